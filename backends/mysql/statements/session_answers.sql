-- # With strategy=session: 'ended': a hold was ended for this request. 'waiting': a client has not
-- # answered yet; also, which. 'none': all have answered. Then a lock of the hold that the request
-- # names, if its client stands still: it has not answered, and its session goes on. Removes what dead
-- # clients have left, but for holds whose sessions go on: their clients stand still.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_answers(p_request BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_dead, v_waiting MEDIUMTEXT CHARACTER SET utf8mb4;
  -- Without a lock: a DELETE that finds nothing would wait for clients that are writing their
  -- answers, and they for it.
  SELECT GROUP_CONCAT(name) INTO v_dead FROM {space}_session_clients
   WHERE answered < p_request AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL;
  IF v_dead IS NOT NULL THEN
    DELETE FROM {space}_session_holds WHERE FIND_IN_SET(client, v_dead) > 0
       AND COALESCE(IS_USED_LOCK(lock_name) <> session, TRUE);
    DELETE FROM {space}_session_clients WHERE FIND_IN_SET(name, v_dead) > 0
       AND IS_USED_LOCK(CONCAT('lockset ', name)) IS NULL;
  END IF;
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
