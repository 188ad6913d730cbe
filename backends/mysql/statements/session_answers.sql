-- # With strategy=session: 'ended': a hold was ended for this request. 'waiting': a client has not
-- # answered yet; also, which. 'none': all have answered. Removes what dead clients have left.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_answers(p_request BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_waiting MEDIUMTEXT CHARACTER SET utf8mb4;
  DELETE FROM {space}_session_holds WHERE client IN (
    SELECT name FROM {space}_session_clients
     WHERE answered < p_request AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL);
  DELETE FROM {space}_session_clients
   WHERE answered < p_request AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL;
  SELECT GROUP_CONCAT(name) INTO v_waiting FROM {space}_session_clients
   WHERE answered < p_request;
  SELECT CASE WHEN EXISTS (SELECT 1 FROM {space}_session_requests
                            WHERE id = p_request AND ended = 1) THEN 'ended'
              WHEN v_waiting IS NOT NULL THEN 'waiting'
              ELSE 'none' END, v_waiting;
END
