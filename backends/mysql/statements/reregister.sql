-- # Registers a hold again that was lost with the state of another server (lost.sql).
-- #
-- # Answers 'registered', what is left of its lease (NULL: for ever), whom to tell; 'stale': another
-- # version of the configuration; 'gone': it has ended, or it is not the time for this.
-- #
-- # Locks are taken in the order of acquire.sql. Its row in `ended` exists while this is under way:
-- # so a release of the hold waits for it, or is found.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {lock}: lock_row.sql, for the rows are the same with both strategies
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {here}: the value that `home` has if grants are allowed
-- #   {items}: the set of the request, as a table
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {check_kept}: answers an error if, after the commit, the server is no longer the one
-- #     that is written to, or a crash may lose something

CREATE PROCEDURE {space}_reregister(
  p_version BIGINT, p_name VARBINARY(255), p_names MEDIUMBLOB,
  p_items MEDIUMTEXT CHARACTER SET utf8mb4, p_count INT, p_mode TINYINT, p_lease BIGINT,
  p_stamp BIGINT, p_token BINARY(16), p_app VARBINARY(255), p_instance VARBINARY(255),
  p_epoch BIGINT, p_label VARBINARY(1024), p_since BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_now, v_version, v_low, v_left, v_longest, v_until, v_head, v_expires BIGINT;
  DECLARE v_at, v_size, v_missing, v_done, v_items, v_live, v_there, v_mine INT DEFAULT 0;
  DECLARE v_name VARBINARY(255) DEFAULT p_name;
  DECLARE v_home VARBINARY(96);
  DECLARE v_app VARBINARY(255);
  DECLARE v_token BINARY(16);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  CALL {space}_lost(v_left);
  IF v_left = 0 THEN
    SELECT 'gone';
    LEAVE main;
  END IF;
  SET @lockset_wake = NULL, @lockset_freed = '';
  again: LOOP
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SET v_at = 1;
  WHILE v_at <= LENGTH(COALESCE(p_names, 'x')) DO
    SET v_name = p_name, v_size = 0;
    IF p_names IS NOT NULL THEN
      SET v_size = ORD(SUBSTR(p_names, v_at, 1));
      SET v_name = SUBSTR(p_names, v_at + 1, v_size);
    END IF;
    {lock}
    SET v_at = v_at + 1 + v_size;
  END WHILE;
  LEAVE again;
  END LOOP;
  {check_keeps}
  SELECT config_version, max_lease_us INTO v_version, v_longest
    FROM {space}_space WHERE id = 1 LOCK IN SHARE MODE;
  IF v_version IS NULL OR v_version <> p_version THEN
    ROLLBACK;
    SELECT 'stale';
    LEAVE main;
  END IF;
  -- Behind the names' locks: what is granted afterwards finds this hold, or came before it.
  SELECT home, quarantine_until - {now} INTO v_home, v_left FROM {space}_home WHERE id = 1;
  INSERT INTO {space}_ended VALUES (p_stamp, 0) ON DUPLICATE KEY UPDATE until = until;
  SELECT until INTO v_until FROM {space}_ended WHERE stamp = p_stamp;
  IF v_home IS NULL OR v_home = {here} OR v_left <= 0 OR v_until <> 0
     OR EXISTS (SELECT 1 FROM {space}_epochs
                 WHERE app = p_app AND epoch > p_epoch AND epoch <> p_stamp) THEN
    ROLLBACK;
    SELECT 'gone';
    LEAVE main;
  END IF;
  IF p_lease > v_longest THEN
    UPDATE {space}_home SET longest = GREATEST(longest, {now} + 2 * p_lease) WHERE id = 1;
  END IF;

  -- Heads in the order of stamps, as everywhere; its own among them.
  BEGIN
    DECLARE heads CURSOR FOR
      SELECT DISTINCT f.stamp, f.name, f.items
        FROM {items} j
        STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY)
        STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                     AND f.stamp = l.stamp
       ORDER BY f.stamp;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
    SET v_done = 0;
    OPEN heads;
    FETCH heads INTO v_head, v_name, v_items;
    WHILE v_done = 0 DO
      SELECT COUNT(*), MAX(app), MAX(token), MAX(expires),
             COALESCE(MAX(expires IS NULL OR expires > {now}), 0)
        INTO v_there, v_app, v_token, v_expires, v_live
        FROM {space}_locks WHERE name = v_name AND stamp = v_head AND item = 0 FOR UPDATE;
      IF v_there = 1 AND v_head = p_stamp THEN
        SET v_mine = IF(v_app = p_app AND v_token = p_token, 1, 2);
      ELSEIF v_there = 1 AND v_live = 0 THEN
        DELETE FROM {space}_locks WHERE name = v_name AND stamp = v_head AND item = 0;
        SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(v_name)), v_name);
        IF v_items > 1 THEN
          CALL {space}_end_rest(v_head);
        END IF;
      END IF;
      FETCH heads INTO v_head, v_name, v_items;
    END WHILE;
    CLOSE heads;
  END;

  -- Of two that can't have been held at once the later has the greater stamp: the earlier one had
  -- ended, and only its registration came first, or its end was lost.
  IF v_mine = 2 OR EXISTS (
      SELECT 1 FROM (
        SELECT j.ord AS ord, j.permits AS permits, SUM(l.mode = j.mode) AS beside,
               MAX(IF(l.mode = j.mode, l.stamp, 0)) AS last_beside,
               MAX(IF(l.mode = j.mode, 0, l.stamp)) AS last_against
          FROM {items} j
          STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp <> p_stamp
         GROUP BY j.ord, j.permits) t
       WHERE t.last_against > p_stamp
          OR (t.beside >= t.permits AND (t.permits > 1 OR t.last_beside > p_stamp))) THEN
    ROLLBACK;
    SELECT 'gone';
    LEAVE main;
  END IF;
  BEGIN
    DECLARE earlier CURSOR FOR
      SELECT DISTINCT f.stamp, f.name, f.items, f.expires
        FROM {items} j
        STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp <> p_stamp
        STRAIGHT_JOIN {space}_locks f ON f.name = COALESCE(l.lease_at, l.name)
                                     AND f.stamp = l.stamp
       WHERE l.mode <> j.mode OR j.permits <= 1 ORDER BY f.stamp;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
    SET v_done = 0;
    OPEN earlier;
    FETCH earlier INTO v_head, v_name, v_items, v_expires;
    WHILE v_done = 0 DO
      CALL {space}_entomb(v_head, v_expires);
      DELETE FROM {space}_locks WHERE name = v_name AND stamp = v_head AND item = 0;
      SET @lockset_freed = CONCAT(@lockset_freed, CHAR(LENGTH(v_name)), v_name);
      IF v_items > 1 THEN
        CALL {space}_end_rest(v_head);
      END IF;
      SET v_done = 0;
      FETCH earlier INTO v_head, v_name, v_items, v_expires;
    END WHILE;
    CLOSE earlier;
  END;

  SET v_now = {now};
  IF v_mine = 0 THEN
    INSERT INTO {space}_locks
      (name, stamp, item, mode, items, app, instance, epoch, label, token, created, expires)
      VALUES (p_name, p_stamp, 0, p_mode, p_count, p_app, p_instance, p_epoch, p_label, p_token,
              p_since, v_now + p_lease);
    INSERT INTO {space}_locks (name, stamp, item, mode, lease_at)
      SELECT CAST(j.name AS BINARY), p_stamp, j.ord - 1, j.mode, p_name
        FROM {items} j WHERE j.ord > 1;
    UPDATE {items} j STRAIGHT_JOIN {space}_names n ON n.name = CAST(j.name AS BINARY)
      SET n.low = LEAST(n.low, p_stamp);
  ELSE
    UPDATE {space}_locks
       SET expires = IF(expires IS NULL OR p_lease IS NULL, NULL,
                        GREATEST(expires, v_now + p_lease))
     WHERE name = p_name AND stamp = p_stamp AND item = 0;
  END IF;
  SELECT expires - v_now INTO v_left FROM {space}_locks
    WHERE name = p_name AND stamp = p_stamp AND item = 0;
  DELETE FROM {space}_ended WHERE stamp = p_stamp;
  IF @lockset_freed <> '' AND EXISTS (SELECT 1 FROM {space}_waiters) THEN
    CALL {space}_wake_freed();
  END IF;
  COMMIT;
  {check_kept}
  SELECT 'registered', v_left, @lockset_wake;
END
