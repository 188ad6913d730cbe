-- # Takes a waiter out of the line, and adds its names to @lockset_freed. They are looked up
-- # without a lock and deleted one by one by the primary key, as in end_rest.sql.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_leave_line(p_waiter BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE mine CURSOR FOR
    SELECT name FROM {space}_waiter_names FORCE INDEX (by_id) WHERE id = p_waiter ORDER BY name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  SET v_done = 0;
  OPEN mine;
  FETCH mine INTO v_name;
  WHILE v_done = 0 DO
    DELETE FROM {space}_waiter_names WHERE name = v_name AND id = p_waiter;
    SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(v_name)), v_name);
    SET v_done = 0;
    FETCH mine INTO v_name;
  END WHILE;
  CLOSE mine;
  -- The row last: a grant that counts itself locks the names first, too.
  DELETE FROM {space}_waiters WHERE id = p_waiter;
END
