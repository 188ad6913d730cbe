-- # Where a client's listening connection stays until one of its waiters is woken, for
-- # p_seconds at most. Answers the marks that p_told does not name: 'ticket:calls,...'.
-- #
-- # What has set a mark ends the wait by KILL QUERY. The look and the wait are one statement: a
-- # mark that was committed before it began is seen by the look, and a KILL that comes later ends
-- # it. Between two statements of a procedure, a KILL can be lost.
-- #
-- # It waits for a user-level lock that another listener holds. Only that one sleeps: all SLEEPs
-- # of a server share one mutex, and on MariaDB a KILL of a sleeper that is just waking holds up
-- # all of them for two seconds.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_park(
  p_listener VARBINARY(32), p_told TEXT CHARACTER SET utf8mb4, p_seconds DECIMAL(9,3))
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_ended INT;
  DECLARE v_woken MEDIUMTEXT CHARACTER SET utf8mb4;
  SELECT t.woken, CASE WHEN t.woken IS NOT NULL THEN 0
                       WHEN COALESCE(IS_USED_LOCK('lockset sleep') = CONNECTION_ID(), FALSE)
                         THEN SLEEP(p_seconds)
                       ELSE GET_LOCK('lockset sleep', p_seconds)
                  END INTO v_woken, v_ended
    FROM (SELECT GROUP_CONCAT(ticket, ':', calls) AS woken FROM {space}_waiters
           WHERE listener = p_listener AND woken IS NOT NULL
             AND FIND_IN_SET(CONCAT(ticket, ':', calls), p_told) = 0) t;
  IF v_woken IS NULL THEN
    SELECT GROUP_CONCAT(ticket, ':', calls) INTO v_woken FROM {space}_waiters
      WHERE listener = p_listener AND woken IS NOT NULL
        AND FIND_IN_SET(CONCAT(ticket, ':', calls), p_told) = 0;
  END IF;
  SELECT v_woken;
END
