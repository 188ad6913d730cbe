-- # Ends a hold of one name that the client knows, in a transaction of its own.
-- #
-- # Without a result set it has ended the hold, and nobody was woken: the usual case. Else one
-- # row: whether it has ended the hold (2: it may have been lost with another server; see
-- # release_noted.sql), whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {at_home}: whether grants are allowed, as far as `home` tells
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_release_now(
  p_stamp BIGINT, p_name VARBINARY(255), p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_ended INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  DELETE FROM {space}_locks
    WHERE name = p_name AND stamp = p_stamp AND item = 0 AND items = 1 AND app = p_app
      AND (expires IS NULL OR expires > {now});
  SET v_ended = ROW_COUNT();
  -- A statement of its own: it sees who registered while the one above waited.
  IF v_ended = 1 AND NOT EXISTS (SELECT 1 FROM {space}_waiter_names WHERE name = p_name) THEN
    COMMIT;
  ELSE
    SET @lockset_wake = NULL;
    IF v_ended = 1 THEN
      CALL {space}_wake(p_name, 0, NULL);
    END IF;
    COMMIT;
    SELECT IF(v_ended = 0 AND NOT {at_home}, 2, v_ended), @lockset_wake;
  END IF;
END
