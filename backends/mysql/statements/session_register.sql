-- # With strategy=session: from now on this client is asked. REQUIRES: the session holds the
-- # user-level lock of the name.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_session_register(p_name VARBINARY(40))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_id INT;
  DECLARE v_last BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- Requests are made under the same lock: none is missed.
  SELECT id INTO v_id FROM {space}_session WHERE id = 1 FOR UPDATE;
  SELECT COALESCE(MAX(id), 0) INTO v_last FROM {space}_session_requests;
  INSERT INTO {space}_session_clients VALUES (p_name, v_last)
    ON DUPLICATE KEY UPDATE answered = v_last;
  COMMIT;
  SELECT v_last;
END
