-- # Removes up to p_most traces that were not observed for p_age microseconds. Answers how many.
-- #
-- # They are found without a lock, and deleted by name in the order in which grants and observers
-- # lock them.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_sweep_traces(p_age BIGINT, p_most INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_before BIGINT DEFAULT {now} - p_age;
  DECLARE v_removed, v_done INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE old CURSOR FOR
    SELECT t.name FROM (SELECT name FROM {space}_traces WHERE observed <= v_before
                         ORDER BY observed LIMIT p_most) t ORDER BY t.name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  OPEN old;
  FETCH old INTO v_name;
  WHILE v_done = 0 DO
    DELETE FROM {space}_traces WHERE name = v_name AND observed <= v_before;
    SET v_removed = v_removed + ROW_COUNT();
    SET v_done = 0;
    FETCH old INTO v_name;
  END WHILE;
  CLOSE old;
  COMMIT;
  SELECT v_removed;
END
