-- # Looks at p_looks holds above p_from, and removes up to p_most that have expired, each
-- # in a transaction of its own; also waiters of
-- # whom nothing was heard. Answers how many holds, where to continue (0: at the start), and
-- # whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_sweep(p_from BIGINT, p_looks INT, p_most INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  DECLARE v_stamp, v_to, v_waiter, v_there BIGINT DEFAULT 0;
  DECLARE v_seen, v_done, v_items, v_removed, v_gone INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE expired CURSOR FOR
    SELECT t.stamp, t.name, t.items
      FROM (SELECT stamp, name, items, expires FROM {space}_locks FORCE INDEX (by_stamp)
             WHERE stamp > p_from AND item = 0 ORDER BY stamp LIMIT p_looks) t
     WHERE t.expires <= v_now ORDER BY t.stamp LIMIT p_most;
  DECLARE silent CURSOR FOR
    SELECT id FROM {space}_waiters WHERE expires <= v_now ORDER BY id LIMIT 500;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET @lockset_wake = NULL;
  SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT COUNT(*), MAX(t.stamp) INTO v_seen, v_to
    FROM (SELECT stamp FROM {space}_locks FORCE INDEX (by_stamp)
           WHERE stamp > p_from AND item = 0 ORDER BY stamp LIMIT p_looks) t;
  SET v_done = 0;
  OPEN expired;
  FETCH expired INTO v_stamp, v_name, v_items;
  WHILE v_done = 0 DO
    START TRANSACTION;
    DELETE FROM {space}_locks
      WHERE name = v_name AND stamp = v_stamp AND item = 0 AND expires <= {now};
    SET v_gone = ROW_COUNT();
    IF v_gone = 1 THEN
      SET @lockset_freed = CONCAT(CHAR(LENGTH(v_name)), v_name);
      IF v_items > 1 THEN
        CALL {space}_end_rest(v_stamp);
      END IF;
      IF EXISTS (SELECT 1 FROM {space}_waiters) THEN
        CALL {space}_wake_freed();
      END IF;
    END IF;
    COMMIT;
    SET v_removed = v_removed + v_gone;
    SET v_done = 0;
    FETCH expired INTO v_stamp, v_name, v_items;
  END WHILE;
  CLOSE expired;
  SET v_done = 0;
  OPEN silent;
  FETCH silent INTO v_waiter;
  WHILE v_done = 0 DO
    START TRANSACTION;
    SET v_there = NULL, @lockset_freed = '';
    SELECT id INTO v_there FROM {space}_waiters
      WHERE id = v_waiter AND expires <= {now} FOR UPDATE;
    IF v_there IS NOT NULL THEN
      CALL {space}_leave_line(v_waiter);
    END IF;
    COMMIT;
    SET v_done = 0;
    FETCH silent INTO v_waiter;
  END WHILE;
  CLOSE silent;
  DELETE FROM {space}_ended WHERE until BETWEEN 1 AND v_now LIMIT 500;
  IF v_removed >= p_most THEN
    SET v_to = v_stamp;
  ELSEIF v_seen < p_looks THEN
    SET v_to = 0;
  END IF;
  SELECT v_removed, v_to, @lockset_wake;
END
