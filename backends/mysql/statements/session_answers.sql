-- # With strategy=session: 'ended': a hold was ended for this request. 'waiting': a client has not
-- # answered yet; also, which. 'none': all have answered. Then a lock of the hold that the request
-- # names, if its client stands still: it has not answered, and its session goes on. Removes what dead clients have left, but
-- # for holds whose sessions go on: their clients stand still.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_answers(p_request BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_waiting MEDIUMTEXT CHARACTER SET utf8mb4;
  DELETE FROM {space}_session_holds WHERE client IN (
    SELECT name FROM {space}_session_clients
     WHERE answered < p_request AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL)
     AND COALESCE(IS_USED_LOCK(lock_name) <> session, TRUE);
  DELETE FROM {space}_session_clients
   WHERE answered < p_request AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL;
  SELECT GROUP_CONCAT(name) INTO v_waiting FROM {space}_session_clients
   WHERE answered < p_request;
  SELECT CASE WHEN EXISTS (SELECT 1 FROM {space}_session_requests
                            WHERE id = p_request AND ended = 1) THEN 'ended'
              WHEN v_waiting IS NOT NULL THEN 'waiting'
              ELSE 'none' END, v_waiting,
         (SELECT MIN(h.lock_name) FROM {space}_session_holds h
            JOIN {space}_session_requests r ON r.id = p_request AND r.stamp = h.stamp
           WHERE IS_USED_LOCK(h.lock_name) = h.session
             AND NOT EXISTS (SELECT 1 FROM {space}_session_clients c
                              WHERE c.name = h.client AND c.answered >= p_request));
END
