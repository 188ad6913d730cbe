-- # With strategy=session: all holds of a client, in place of what it listed before; NULL: nobody has
-- # asked for them. It has answered all requests up to p_answered, and has ended a hold for each of
-- # p_ended, '1,2'.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_list(
  p_client VARBINARY(40), p_answered BIGINT, p_ended TEXT CHARACTER SET utf8mb4,
  p_holds LONGTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF p_holds IS NOT NULL THEN
    DELETE FROM {space}_session_holds WHERE client = p_client;
    INSERT INTO {space}_session_holds
    SELECT u.stamp, UNHEX(u.name), u.mode, u.lock_name, u.session, p_client, u.since, u.ends,
           UNHEX(u.app), UNHEX(u.instance), u.epoch, UNHEX(u.label)
      FROM JSON_TABLE(p_holds, '$[*]' COLUMNS (
             stamp BIGINT PATH '$[0]', name TEXT CHARACTER SET utf8mb4 PATH '$[1]',
             mode INT PATH '$[2]', lock_name VARCHAR(64) CHARACTER SET utf8mb4 PATH '$[3]',
             session BIGINT PATH '$[4]', since BIGINT PATH '$[5]', ends BIGINT PATH '$[6]',
             app TEXT CHARACTER SET utf8mb4 PATH '$[7]',
             instance TEXT CHARACTER SET utf8mb4 PATH '$[8]', epoch BIGINT PATH '$[9]',
             label TEXT CHARACTER SET utf8mb4 PATH '$[10]')) u;
  END IF;
  IF p_ended <> '' THEN
    UPDATE {space}_session_requests SET ended = 1 WHERE FIND_IN_SET(id, p_ended) > 0;
  END IF;
  -- Last: who waits for the answer sees all of it.
  UPDATE {space}_session_clients SET answered = GREATEST(answered, p_answered)
    WHERE name = p_client;
  COMMIT;
END
