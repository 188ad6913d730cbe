-- # With strategy=session: notes a request. Its number is greater than those of all requests that
-- # anybody has seen.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_put(p_stamp BIGINT, p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_id INT;
  DECLARE v_request BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT id INTO v_id FROM {space}_session WHERE id = 1 FOR UPDATE;
  INSERT INTO {space}_session_requests (stamp, app, ended) VALUES (p_stamp, p_app, 0);
  SET v_request = LAST_INSERT_ID();
  DELETE FROM {space}_session_requests WHERE id < v_request - 100;
  COMMIT;
  SELECT v_request;
END
