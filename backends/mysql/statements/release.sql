-- # Ends any hold of the application. Without an application (1318: as if arguments were
-- # missing) programs before version 2 broke holds; break.sql does that now. Answers whether it has
-- # ended the hold (2: as in release_now.sql), and whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {at_home}: whether grants are allowed, as far as `home` tells
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_release(p_stamp BIGINT, p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_name VARBINARY(255);
  DECLARE v_items, v_ended INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET @lockset_wake = NULL;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT name, items INTO v_name, v_items FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_stamp AND item = 0;
  IF v_name IS NOT NULL THEN
    DELETE FROM {space}_locks
      WHERE name = v_name AND stamp = p_stamp AND item = 0
        AND app = p_app AND (expires IS NULL OR expires > {now});
    SET v_ended = ROW_COUNT();
    IF v_ended = 1 THEN
      SET @lockset_freed = CONCAT(CHAR(LENGTH(v_name)), v_name);
      IF v_items > 1 THEN
        CALL {space}_end_rest(p_stamp);
      END IF;
      IF EXISTS (SELECT 1 FROM {space}_waiters) THEN
        CALL {space}_wake_freed();
      END IF;
    END IF;
  END IF;
  COMMIT;
  IF p_app IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1318, MESSAGE_TEXT = 'whose hold is it?';
  END IF;
  SELECT IF(v_ended = 0 AND NOT {at_home}, 2, v_ended), @lockset_wake;
END
