-- # Ends a hold of one name that the client knows, in the caller's transaction if there is
-- # one. Without a result set, it has ended the hold. If it has not, or if somebody was woken: one
-- # row, as in release_now.sql.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {at_home}: whether grants are allowed, as far as `home` tells
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_release_one(p_stamp BIGINT, p_name VARBINARY(255), p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_ended INT;
  {check_writable}
  DELETE FROM {space}_locks
    WHERE name = p_name AND stamp = p_stamp AND item = 0 AND items = 1 AND app = p_app
      AND (expires IS NULL OR expires > {now});
  SET v_ended = ROW_COUNT();
  IF v_ended = 0 THEN
    SELECT IF({at_home}, 0, 2), NULL;
  ELSEIF EXISTS (SELECT 1 FROM {space}_waiter_names WHERE name = p_name) THEN
    SET @lockset_wake = NULL;
    CALL {space}_wake(p_name, 0, NULL);
    SELECT 1, @lockset_wake;
  END IF;
END
