-- # Removes rows of names that were not used for p_age microseconds and have no hold; looks
-- # at p_looks rows at most, above p_from. Safe at any time: a grant holds the lock on the
-- # name's row from before its look until its commit, and an acquire that waited for a
-- # removed row makes a new one; no state is lost with the row. Answers where to continue
-- # (NULL: at the start).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_collect(p_from VARBINARY(255), p_looks INT, p_age BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_before BIGINT DEFAULT {now} - p_age;
  DECLARE v_seen, v_done INT DEFAULT 0;
  DECLARE v_low, v_hold BIGINT;
  DECLARE v_name, v_to VARBINARY(255);
  DECLARE old CURSOR FOR
    SELECT t.name FROM (SELECT name, low FROM {space}_names WHERE name > p_from
                         ORDER BY name LIMIT p_looks) t
     WHERE t.low < v_before
       AND NOT EXISTS (SELECT 1 FROM {space}_locks l WHERE l.name = t.name) ORDER BY t.name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT COUNT(*), MAX(t.name) INTO v_seen, v_to
    FROM (SELECT name FROM {space}_names WHERE name > p_from ORDER BY name LIMIT p_looks) t;
  SET v_done = 0;
  OPEN old;
  FETCH old INTO v_name;
  WHILE v_done = 0 DO
    START TRANSACTION;
    SET v_low = NULL, v_hold = NULL;
    SELECT low INTO v_low FROM {space}_names WHERE name = v_name FOR UPDATE;
    SELECT stamp INTO v_hold FROM {space}_locks WHERE name = v_name LIMIT 1;
    IF v_low < v_before AND v_hold IS NULL THEN
      DELETE FROM {space}_names WHERE name = v_name;
    END IF;
    COMMIT;
    SET v_done = 0;
    FETCH old INTO v_name;
  END WHILE;
  CLOSE old;
  SELECT IF(v_seen < p_looks, NULL, v_to);
END
