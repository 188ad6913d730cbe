-- # Observes names: reads their traces, and makes missing ones.
-- #
-- # Answers a row for each name, in their order: last write (NULL: its trace was just swept), label,
-- # microseconds since that grant or NULL, whether a write hold is on it, whom to tell, NULL. No row:
-- # the request is stale. In a quarantine: one row, whose last column says for how long.
-- #
-- # One SELECT reads all, so a hold and its entry in the traces are seen together, and the
-- # configuration with them. It locks nothing, for a grant and its entry are one transaction. A
-- # trace is made behind the locks that a grant of the name takes. Otherwise a grant that had found
-- # none could be committed afterwards.
-- #
-- # The stamp of a trace is drawn before, in a transaction of its own. A commit can be seen before
-- # it is on the disk. A crash could lose the trace, and the counter give its stamp to a grant.
-- #
-- # Locks are taken in the order of acquire.sql, and those on traces last, by name. The steps are
-- # transactions of their own.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {items}: the names, as a table
-- #   {schema_version}: the schema's version. Procedures of an older one leave no traces.
-- #   {at_home}: whether grants are allowed, as far as `home` tells
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_observe(
  p_version BIGINT, p_items MEDIUMTEXT CHARACTER SET utf8mb4, p_grain BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  DECLARE v_version, v_oldest, v_first_end, v_stamp, v_low, v_expired BIGINT;
  DECLARE v_left BIGINT;
  DECLARE v_unseen MEDIUMBLOB;
  DECLARE v_name VARBINARY(255);
  DECLARE v_at, v_size, v_missing, v_done, v_items INT DEFAULT 0;
  DECLARE expired CURSOR FOR
    SELECT DISTINCT f.stamp, f.name, f.items
      FROM {items} j
      STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY)
      STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name) AND f.stamp = l.stamp
     WHERE l.mode = 1 AND f.expires <= v_now ORDER BY f.stamp;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  IF NOT {at_home} THEN
    CALL {space}_lost(v_left);
    IF v_left > 0 THEN
      SELECT 0, '', NULL, 0, NULL, v_left;
      LEAVE main;
    END IF;
  END IF;
  SET @lockset_wake = NULL;
  SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

  SELECT MIN(s.config_version), MIN(t.observed),
         GROUP_CONCAT(IF(t.name IS NULL, CONCAT(CHAR(LENGTH(j.name)), CAST(j.name AS BINARY)), NULL)
                      ORDER BY j.ord SEPARATOR ''),
         MIN((SELECT MIN(f.expires) FROM {space}_locks l
              STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                           AND f.stamp = l.stamp
               WHERE l.name = CAST(j.name AS BINARY) AND l.mode = 1))
    INTO v_version, v_oldest, v_unseen, v_first_end
    FROM {space}_space s STRAIGHT_JOIN {items} j
    LEFT JOIN {space}_traces t ON t.name = CAST(j.name AS BINARY)
   WHERE s.id = 1 AND s.schema_version = {schema_version};
  IF v_version IS NULL OR v_version <> p_version THEN
    LEAVE main;
  END IF;

  IF v_first_end <= v_now THEN
    -- Perhaps nobody else comes who would. As in sweep.sql.
    SET v_done = 0;
    OPEN expired;
    FETCH expired INTO v_expired, v_name, v_items;
    WHILE v_done = 0 DO
      START TRANSACTION;
      DELETE FROM {space}_locks
        WHERE name = v_name AND stamp = v_expired AND item = 0 AND expires <= {now};
      IF ROW_COUNT() = 1 THEN
        SET @lockset_freed = CONCAT(CHAR(LENGTH(v_name)), v_name);
        IF v_items > 1 THEN
          CALL {space}_end_rest(v_expired);
        END IF;
        CALL {space}_wake_freed();
      END IF;
      COMMIT;
      SET v_done = 0;
      FETCH expired INTO v_expired, v_name, v_items;
    END WHILE;
    CLOSE expired;
  END IF;

  IF v_unseen IS NOT NULL THEN
    START TRANSACTION;
    CALL {space}_draw(v_stamp);
    COMMIT;
    again: LOOP
      START TRANSACTION;
      SET v_at = 1, v_low = 0;
      WHILE v_at < LENGTH(v_unseen) AND v_low IS NOT NULL DO
        SET v_size = ORD(SUBSTR(v_unseen, v_at, 1));
        SET v_low = NULL;
        SELECT low INTO v_low FROM {space}_names
          WHERE name = SUBSTR(v_unseen, v_at + 1, v_size) FOR UPDATE;
        SET v_at = v_at + 1 + v_size;
      END WHILE;
      IF v_low IS NOT NULL THEN
        LEAVE again;
      END IF;
      -- As in lock_row.sql.
      ROLLBACK;
      SET v_missing = v_missing + 1;
      IF v_missing > 1000 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the rows of the names vanish again and again';
      END IF;
      SET v_at = 1;
      WHILE v_at < LENGTH(v_unseen) DO
        SET v_size = ORD(SUBSTR(v_unseen, v_at, 1));
        INSERT IGNORE INTO {space}_names VALUES (SUBSTR(v_unseen, v_at + 1, v_size), 0, 0);
        SET v_at = v_at + 1 + v_size;
      END WHILE;
    END LOOP;
    SET v_version = NULL;
    SELECT config_version INTO v_version FROM {space}_space
      WHERE id = 1 AND schema_version = {schema_version} LOCK IN SHARE MODE;
    IF v_version IS NULL OR v_version <> p_version THEN
      ROLLBACK;
      LEAVE main;
    END IF;
    SET v_at = 1;
    WHILE v_at < LENGTH(v_unseen) DO
      SET v_size = ORD(SUBSTR(v_unseen, v_at, 1));
      INSERT IGNORE INTO {space}_traces
        VALUES (SUBSTR(v_unseen, v_at + 1, v_size), v_stamp, '', NULL, v_now);
      SET v_at = v_at + 1 + v_size;
    END WHILE;
    COMMIT;
  END IF;

  IF v_oldest < v_now - p_grain THEN
    UPDATE {items} j
      STRAIGHT_JOIN {space}_traces t ON t.name = CAST(j.name AS BINARY)
      SET t.observed = v_now WHERE t.observed < v_now - p_grain;
  END IF;

  SELECT GREATEST(t.last_write, s.stamp_base), IF(t.last_write < s.stamp_base, '', t.label),
         IF(t.last_write < s.stamp_base, NULL, GREATEST({now} - t.granted, 0)),
         EXISTS (SELECT 1 FROM {space}_locks l
                  WHERE l.name = CAST(j.name AS BINARY) AND l.mode = 1), @lockset_wake, NULL
    FROM {space}_space s STRAIGHT_JOIN {items} j
    LEFT JOIN {space}_traces t ON t.name = CAST(j.name AS BINARY)
   WHERE s.id = 1 AND s.schema_version = {schema_version} AND s.config_version = p_version
   ORDER BY j.ord;
END
