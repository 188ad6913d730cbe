-- # With strategy=session: where a client's main connection stays until the client is asked
-- # something, or the token is no longer the one that it knows; for p_seconds at most. Answers
-- # the present token, and the requests since p_answered.
-- #
-- # A client that asks ends the wait by KILL QUERY. It finds the connection by the lock p_mark, which
-- # is held for the wait alone: whatever else the connection does is not ended. See park.sql for why
-- # the look and the wait are one statement, and why only one session sleeps.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_park(
  p_answered BIGINT, p_token VARBINARY(40), p_seconds DECIMAL(9,3), p_mark VARBINARY(64))
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_ended INT;
  -- One that was ended by KILL QUERY has left it.
  DO RELEASE_LOCK(p_mark);
  IF p_seconds > 0 THEN
    DO GET_LOCK(p_mark, 0);
  END IF;
  SELECT CASE WHEN p_seconds = 0 OR t.news > 0 OR s.token <> p_token THEN 0
              WHEN COALESCE(IS_USED_LOCK('lockset sleep') = CONNECTION_ID(), FALSE)
                THEN SLEEP(p_seconds)
              ELSE GET_LOCK('lockset sleep', p_seconds)
         END INTO v_ended
    FROM (SELECT COUNT(*) AS news FROM {space}_session_requests WHERE id > p_answered) t,
         {space}_session s
    WHERE s.id = 1;
  DO RELEASE_LOCK(p_mark);
  SELECT 'token', token, NULL, NULL FROM {space}_session WHERE id = 1
  UNION ALL SELECT 'request', id, stamp, app FROM {space}_session_requests
    WHERE id > p_answered;
END
