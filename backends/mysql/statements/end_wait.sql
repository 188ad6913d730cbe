-- # A waiter gave up. It may have been woken; and others may have waited only because names
-- # were kept for this one. So the next for each of its names is woken. Answers whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_end_wait(p_waiter BIGINT, p_listener VARBINARY(32))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_id BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET @lockset_wake = NULL, @lockset_freed = '';
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT id INTO v_id FROM {space}_waiters
    WHERE id = p_waiter AND listener = p_listener FOR UPDATE;
  IF v_id IS NOT NULL THEN
    CALL {space}_leave_line(v_id);
    CALL {space}_wake_freed();
  END IF;
  COMMIT;
  SELECT @lockset_wake;
END
