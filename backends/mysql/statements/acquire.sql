-- # An acquire of any set. The strategies differ in how a name is locked.
-- #
-- # Answers one row, of the columns
-- #   outcome 'granted': stamp, now, left of the lease or NULL, floors or NULL
-- #   outcome 'busy':    holder, now, left of the first lease or NULL, watch, name, mode, label
-- #   outcome 'stale', 'late', 'unsure'
-- #
-- # Checks whether the server is the one that is written to, and durable: once before (then
-- # nothing is done, and nobody waits here), and once more after the commit. A grant that
-- # was committed after read_only had been set may be missing on a server that had read the
-- # log to its end by then. Only a grant that was committed before is answered as granted.
-- #
-- # Each statement of a READ COMMITTED transaction sees what was committed when it began,
-- # so the look at a name is a statement of its own after the lock on its row. Holds are
-- # counted, never filtered by expiry: expired ones are deleted first, after the expiry was
-- # checked again under the row's lock, which waits for a renewal under way.
-- #
-- # MIN(stamp) is one access to the key, before the optimizer weighs plans; LIMIT 1 was
-- # measured to cost half as much again.
-- #
-- # All calls take locks in this order: name rows by name, the space's row, holds by stamp
-- # (in a hold, item 0 first).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {procedure}: _acquire_rows or _acquire_key, by strategy
-- #   {lock}: lock_row.sql or lock_key.sql, by strategy
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {items}: the set of the request, as a table
-- #   {keeps}: the condition that the server is the one that is written to, and a crash loses
-- #     nothing
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something

CREATE PROCEDURE {space}{procedure}(
  p_version BIGINT, p_name VARBINARY(255), p_names MEDIUMBLOB,
  p_items MEDIUMTEXT CHARACTER SET utf8mb4, p_count INT, p_mode TINYINT, p_lease BIGINT,
  p_token BINARY(16), p_app VARBINARY(255), p_instance VARBINARY(255), p_epoch BIGINT,
  p_label VARBINARY(1024), p_least BIGINT, p_patience BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_began BIGINT DEFAULT {now};
  DECLARE v_now, v_version, v_base, v_low, v_stamp, v_target, v_seen, v_twin BIGINT;
  DECLARE v_least_low, v_most_low BIGINT;
  DECLARE v_at, v_size, v_missing, v_removed, v_taken INT DEFAULT 0;
  DECLARE v_name VARBINARY(255) DEFAULT p_name;
  DECLARE v_floors MEDIUMTEXT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  again: LOOP
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  IF p_names IS NULL THEN
    {lock}
    SELECT MIN(stamp) INTO v_seen FROM {space}_locks
      WHERE name = p_name AND stamp >= v_low;
    SET v_least_low = v_low, v_most_low = v_low;
  ELSE
    SET v_at = 1, v_least_low = NULL, v_most_low = 0;
    WHILE v_at < LENGTH(p_names) DO
      SET v_size = ORD(SUBSTR(p_names, v_at, 1));
      SET v_name = SUBSTR(p_names, v_at + 1, v_size);
      {lock}
      IF v_seen IS NULL THEN
        SELECT MIN(stamp) INTO v_seen FROM {space}_locks
          WHERE name = v_name AND stamp >= v_low;
      END IF;
      SET v_least_low = LEAST(v_low, COALESCE(v_least_low, v_low));
      SET v_most_low = GREATEST(v_low, v_most_low);
      SET v_at = v_at + 1 + v_size;
    END WHILE;
  END IF;
  LEAVE again;
  END LOOP;

  SET v_now = {now};
  IF v_now - v_began > p_patience THEN
    ROLLBACK;
    SELECT 'late';
    LEAVE main;
  END IF;
  {check_keeps}
  SELECT config_version, stamp_base INTO v_version, v_base FROM {space}_space WHERE id = 1
    LOCK IN SHARE MODE;
  IF v_version IS NULL OR v_version <> p_version THEN
    ROLLBACK;
    SELECT 'stale';
    LEAVE main;
  END IF;

  IF v_seen IS NOT NULL THEN
    BEGIN
      DECLARE v_done INT DEFAULT 0;
      DECLARE v_items INT;
      DECLARE v_expired BIGINT;
      DECLARE expired CURSOR FOR
        SELECT DISTINCT f.stamp, f.name, f.items
          FROM {items} j
          STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY)
          STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                       AND f.stamp = l.stamp
         WHERE f.expires <= v_now ORDER BY f.stamp;
      DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
      OPEN expired;
      FETCH expired INTO v_expired, v_name, v_items;
      WHILE v_done = 0 DO
        DELETE FROM {space}_locks
          WHERE name = v_name AND stamp = v_expired AND item = 0 AND expires <= {now};
        IF ROW_COUNT() = 1 THEN
          SET v_removed = v_removed + 1;
          IF v_items > 1 THEN
            CALL {space}_end_rest(v_expired);
          END IF;
        END IF;
        FETCH expired INTO v_expired, v_name, v_items;
      END WHILE;
      CLOSE expired;
    END;
    BEGIN
      DECLARE v_blocked INT;
      DECLARE v_holder, v_first_end BIGINT;
      DECLARE v_holder_mode TINYINT;
      DECLARE v_lease_at VARBINARY(255);
      DECLARE v_label VARBINARY(1024);
      DECLARE v_watch MEDIUMTEXT;
      SELECT MIN(IF(t.blocked, t.ord, NULL)), MIN(IF(t.blocked, t.first_end, NULL)),
             GROUP_CONCAT(COALESCE(t.lowest, 0) ORDER BY t.ord)
        INTO v_blocked, v_first_end, v_floors
        FROM (SELECT j.ord AS ord, MIN(l.stamp) AS lowest, MIN(f.expires) AS first_end,
                     IF(j.mode = 1, SUM(l.mode = 0) > 0 OR SUM(l.mode = 1) >= j.permits,
                                    SUM(l.mode = 1) > 0 OR SUM(l.mode = 0) >= j.permits) AS blocked
                FROM {items} j
                LEFT JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY)
                LEFT JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                         AND f.stamp = l.stamp
               GROUP BY j.ord, j.mode, j.permits) t;
      SET v_now = {now};
      IF v_blocked IS NOT NULL THEN
        SELECT CAST(j.name AS BINARY) INTO v_name FROM {items} j WHERE j.ord = v_blocked;
        SELECT stamp, mode, COALESCE(lease_at, name) INTO v_holder, v_holder_mode, v_lease_at
          FROM {space}_locks WHERE name = v_name ORDER BY stamp LIMIT 1;
        SELECT label INTO v_label FROM {space}_locks
          WHERE name = v_lease_at AND stamp = v_holder;
        SELECT GROUP_CONCAT(w.stamp) INTO v_watch
          FROM (SELECT stamp FROM {space}_locks WHERE name = v_name
                 ORDER BY stamp LIMIT 64) w;
        IF v_removed > 0 THEN COMMIT; ELSE ROLLBACK; END IF;
        SELECT 'busy', COALESCE(v_holder, 0), v_now, GREATEST(0, v_first_end - v_now), v_watch,
               v_name, COALESCE(v_holder_mode, 1), v_label;
        LEAVE main;
      END IF;
      -- The same request was delivered twice: it has its hold already.
      SELECT stamp, expires INTO v_twin, v_first_end FROM {space}_locks
        WHERE name = p_name AND item = 0 AND token = p_token LIMIT 1;
      IF v_twin IS NOT NULL THEN
        COMMIT;
        SELECT IF({keeps}, 'granted', 'unsure'), v_twin, v_now, v_first_end - v_now, v_floors;
        LEAVE main;
      END IF;
    END;
  END IF;

  -- The stamp is the AUTO_INCREMENT value, drawn under the names' locks. Where that is
  -- behind the clock or what was asked for, a row with a higher value raises the counter,
  -- and the stamp is drawn again.
  draw: LOOP
    INSERT INTO {space}_locks
      (name, stamp, item, mode, items, app, instance, epoch, label, token, created, expires)
      VALUES (p_name, NULL, 0, p_mode, p_count, p_app, p_instance, p_epoch, p_label, p_token,
              v_now, v_now + p_lease);
    SET v_stamp = LAST_INSERT_ID();
    IF v_target IS NULL THEN
      SET v_target = GREATEST(p_least, v_base + 1, v_most_low);
      IF v_stamp >= v_target AND v_stamp >= v_now - 1000000 THEN
        LEAVE draw;
      END IF;
      SET v_target = GREATEST(v_target, v_now);
    END IF;
    IF v_stamp >= v_target THEN
      LEAVE draw;
    END IF;
    SET v_taken = v_taken + 1;
    IF v_taken > 3 THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the counter of stamps can not be raised';
    END IF;
    DELETE FROM {space}_locks WHERE name = p_name AND stamp = v_stamp;
    INSERT INTO {space}_locks (name, stamp, item, mode) VALUES ('', v_target - 1, 0, 0);
    DELETE FROM {space}_locks WHERE name = '' AND stamp = v_target - 1;
  END LOOP;
  IF p_names IS NOT NULL THEN
    INSERT INTO {space}_locks (name, stamp, item, mode, lease_at)
      SELECT CAST(j.name AS BINARY), v_stamp, j.ord - 1, j.mode, p_name
        FROM {items} j WHERE j.ord > 1;
  END IF;

  -- Rows that were deleted, and that a long transaction elsewhere keeps from being purged,
  -- lie below `low`. Stamps are about microseconds: at most one update in 5 s per name.
  IF p_names IS NULL THEN
    SET v_low = IF(v_floors IS NULL OR v_floors = '0', v_stamp, CAST(v_floors AS SIGNED));
    IF v_low - v_least_low > 5000000 THEN
      UPDATE {space}_names SET low = v_low WHERE name = p_name;
    END IF;
  ELSEIF v_floors IS NULL AND v_stamp - v_least_low > 5000000 THEN
    SET v_at = 1;
    WHILE v_at < LENGTH(p_names) DO
      SET v_size = ORD(SUBSTR(p_names, v_at, 1));
      UPDATE {space}_names SET low = v_stamp WHERE name = SUBSTR(p_names, v_at + 1, v_size);
      SET v_at = v_at + 1 + v_size;
    END WHILE;
  END IF;
  COMMIT;
  SELECT IF({keeps}, 'granted', 'unsure'), v_stamp, v_now, p_lease, v_floors;
END
