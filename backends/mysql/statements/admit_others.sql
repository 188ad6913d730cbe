-- # A set was granted to the waiter p_waiter (0: to no waiter): takes it out of the line, and
-- # wakes those for whom the grant leaves room, and those who wait for other names that were
-- # freed on the way (@lockset_freed).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {items}: the set, as a table

CREATE PROCEDURE {space}_admit_others(
  p_items MEDIUMTEXT CHARACTER SET utf8mb4, p_waiter BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_freed MEDIUMBLOB DEFAULT @lockset_freed;
  DECLARE v_at, v_size INT DEFAULT 1;
  DECLARE v_done INT;
  DECLARE v_name VARBINARY(255);
  DECLARE v_mode TINYINT;
  DECLARE roomy CURSOR FOR
    SELECT CAST(j.name AS BINARY), j.mode FROM {items} j
     WHERE (SELECT COUNT(*) FROM {space}_locks l
             WHERE l.name = CAST(j.name AS BINARY) AND l.mode = j.mode) < j.permits
     ORDER BY j.ord;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  IF p_waiter <> 0 THEN
    CALL {space}_leave_line(p_waiter);
  END IF;
  WHILE v_at < LENGTH(v_freed) DO
    SET v_size = ORD(SUBSTR(v_freed, v_at, 1));
    SET v_name = SUBSTR(v_freed, v_at + 1, v_size);
    IF NOT EXISTS (SELECT 1 FROM {items} j WHERE CAST(j.name AS BINARY) = v_name) THEN
      CALL {space}_wake(v_name, 0, NULL);
    END IF;
    SET v_at = v_at + 1 + v_size;
  END WHILE;
  OPEN roomy;
  SET v_done = 0;
  FETCH roomy INTO v_name, v_mode;
  WHILE v_done = 0 DO
    CALL {space}_wake(v_name, 0, v_mode);
    SET v_done = 0;
    FETCH roomy INTO v_name, v_mode;
  END WHILE;
  CLOSE roomy;
END
