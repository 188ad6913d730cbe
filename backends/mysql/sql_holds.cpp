#include "backends/mysql/sql.h"

namespace lockset::mysql {
namespace {

constexpr NamedSql procedures[] = {
    // The further rows of a hold whose first row the caller has deleted. They are looked up
    // without a lock and deleted one by one by the primary key: a delete over the index of
    // stamps locks the next stamp's entry as well, and two such deletes met in a deadlock.
    {"_end_rest", R"(
CREATE PROCEDURE {space}_end_rest(p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_done INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE rest CURSOR FOR
    SELECT name FROM {space}_locks FORCE INDEX (by_stamp)
     WHERE stamp = p_stamp AND item > 0 ORDER BY item;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  OPEN rest;
  FETCH rest INTO v_name;
  WHILE v_done = 0 DO
    DELETE FROM {space}_locks WHERE name = v_name AND stamp = p_stamp;
    FETCH rest INTO v_name;
  END WHILE;
  CLOSE rest;
END)"},
    // A hold of one name, whose name the client knows: one statement, no result set; the
    // number of rows says whether it was this call that ended it.
    {"_release_one", R"(
CREATE PROCEDURE {space}_release_one(p_stamp BIGINT, p_name VARBINARY(255), p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  {check_writable}
  DELETE FROM {space}_locks
    WHERE name = p_name AND stamp = p_stamp AND item = 0 AND items = 1 AND app = p_app
      AND (expires IS NULL OR expires > {now});
END)",
     Audience::everybody},
    // Any hold of the application. Without one (1318: as if the arguments were too few) programs
    // of before 2 broke holds, for which there is _break now.
    {"_release", R"(
CREATE PROCEDURE {space}_release(p_stamp BIGINT, p_app VARBINARY(255))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_name VARBINARY(255);
  DECLARE v_items, v_ended INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT name, items INTO v_name, v_items FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_stamp AND item = 0;
  IF v_name IS NOT NULL THEN
    DELETE FROM {space}_locks
      WHERE name = v_name AND stamp = p_stamp AND item = 0
        AND app = p_app AND (expires IS NULL OR expires > {now});
    SET v_ended = ROW_COUNT();
    IF v_ended = 1 AND v_items > 1 THEN
      CALL {space}_end_rest(p_stamp);
    END IF;
  END IF;
  COMMIT;
  IF p_app IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1318, MESSAGE_TEXT = 'whose hold is it?';
  END IF;
  SELECT v_ended;
END)",
     Audience::everybody},
    // The owner of a stamp does not change: no stamp is used twice.
    {"_break", R"(
CREATE PROCEDURE {space}_break(p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_app VARBINARY(255) DEFAULT '';
  SELECT app INTO v_app FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_stamp AND item = 0;
  CALL {space}_release(p_stamp, v_app);
END)",
     Audience::operators},
    // With whose rights all of this is done, and what that account may do on the whole server.
    {"_definer", R"(
CREATE PROCEDURE {space}_definer()
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_account VARCHAR(512) CHARACTER SET utf8mb4 DEFAULT CURRENT_USER();
  DECLARE v_host VARCHAR(255) CHARACTER SET utf8mb4
    DEFAULT SUBSTRING_INDEX(CURRENT_USER(), '@', -1);
  SET v_account = CONCAT('''', LEFT(v_account, CHAR_LENGTH(v_account) - CHAR_LENGTH(v_host) - 1),
                         '''@''', v_host, '''');
  SELECT v_account, GROUP_CONCAT(privilege_type ORDER BY privilege_type SEPARATOR ', ')
    FROM information_schema.user_privileges
    WHERE CONVERT(grantee USING utf8mb4) = v_account AND privilege_type <> 'USAGE';
END)",
     Audience::everybody},
    // p_holds: [[stamp, name of item 0, lease, permanent], ...] by ascending stamp, so that
    // two that renew the same holds lock them in the same order. The expiry is looked at
    // when the row is locked; what the update did not touch is not live a moment later.
    {"_renew", R"(
CREATE PROCEDURE {space}_renew(p_app VARBINARY(255), p_holds LONGTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  UPDATE {holds} j
    STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp = j.stamp
    SET l.expires = IF(l.expires IS NULL OR j.permanent = 1, NULL,
                       GREATEST(l.expires, {now} + j.lease))
    WHERE l.item = 0 AND l.app = p_app AND (l.expires IS NULL OR l.expires > {now});
  SET v_now = {now};
  -- The lease counts from the update, a little before v_now.
  SELECT j.stamp, GREATEST(l.expires - v_now, j.lease), v_now
    FROM {holds} j
    STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp = j.stamp
    WHERE l.item = 0 AND l.app = p_app AND (l.expires IS NULL OR l.expires > v_now)
  UNION ALL SELECT 0, 0, v_now;
  COMMIT;
  {check_kept}
END)",
     Audience::everybody},
    {"_reclaim", R"(
CREATE PROCEDURE {space}_reclaim(p_app VARBINARY(255), p_epoch BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_present, v_stamp BIGINT;
  DECLARE v_version BIGINT;
  DECLARE v_ended, v_done, v_items, v_live INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE old CURSOR FOR
    SELECT stamp, name, items FROM {space}_locks
     WHERE item = 0 AND app = p_app AND epoch < p_epoch AND stamp <> p_epoch ORDER BY stamp;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- Waits for the acquires under way and keeps later ones out: they lock this row, too.
  SELECT config_version INTO v_version FROM {space}_space WHERE id = 1 FOR UPDATE;
  SELECT epoch INTO v_present FROM {space}_epochs WHERE app = p_app;
  IF v_present > p_epoch THEN
    ROLLBACK;
    SELECT 'superseded', v_present;
    LEAVE main;
  END IF;
  SELECT COUNT(*) INTO v_live FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_epoch AND item = 0 AND app = p_app AND (expires IS NULL OR expires > {now});
  IF v_live = 0 THEN
    ROLLBACK;
    SELECT 'not_held', 0;
    LEAVE main;
  END IF;
  IF v_present IS NULL OR v_present < p_epoch THEN
    INSERT INTO {space}_epochs VALUES (p_app, p_epoch) ON DUPLICATE KEY UPDATE epoch = p_epoch;
    UPDATE {space}_space SET config_version = {next_version} WHERE id = 1;
  END IF;
  SET v_done = 0;
  OPEN old;
  FETCH old INTO v_stamp, v_name, v_items;
  WHILE v_done = 0 DO
    DELETE FROM {space}_locks WHERE name = v_name AND stamp = v_stamp AND item = 0
      AND (expires IS NULL OR expires > {now});
    SET v_live = ROW_COUNT();
    SET v_ended = v_ended + v_live;
    IF v_live = 0 THEN
      DELETE FROM {space}_locks WHERE name = v_name AND stamp = v_stamp AND item = 0;
    END IF;
    IF v_items > 1 THEN
      CALL {space}_end_rest(v_stamp);
    END IF;
    FETCH old INTO v_stamp, v_name, v_items;
  END WHILE;
  CLOSE old;
  COMMIT;
  {check_kept}
  SELECT 'done', v_ended;
END)",
     Audience::everybody},
    // Looks at p_looks holds above p_from, removes up to p_most that have expired, each in a
    // transaction of its own; answers how many, and where to go on (0: at the start).
    {"_sweep", R"(
CREATE PROCEDURE {space}_sweep(p_from BIGINT, p_looks INT, p_most INT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  DECLARE v_stamp, v_to BIGINT DEFAULT 0;
  DECLARE v_seen, v_done, v_items, v_removed, v_gone INT DEFAULT 0;
  DECLARE v_name VARBINARY(255);
  DECLARE expired CURSOR FOR
    SELECT t.stamp, t.name, t.items
      FROM (SELECT stamp, name, items, expires FROM {space}_locks FORCE INDEX (by_stamp)
             WHERE stamp > p_from AND item = 0 ORDER BY stamp LIMIT p_looks) t
     WHERE t.expires <= v_now ORDER BY t.stamp LIMIT p_most;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
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
    IF v_gone = 1 AND v_items > 1 THEN
      CALL {space}_end_rest(v_stamp);
    END IF;
    COMMIT;
    SET v_removed = v_removed + v_gone;
    FETCH expired INTO v_stamp, v_name, v_items;
  END WHILE;
  CLOSE expired;
  IF v_removed >= p_most THEN
    SET v_to = v_stamp;
  ELSEIF v_seen < p_looks THEN
    SET v_to = 0;
  END IF;
  SELECT v_removed, v_to;
END)",
     Audience::everybody},
    // Removes rows of names that were not used for p_age microseconds and have no hold; at
    // most p_looks are looked at, above p_from. Safe at any time: a grant holds the lock on
    // the name's row from before it looks until it commits, and who waited for a row that is
    // gone makes a new one; nothing is remembered by it. Answers where to go on (NULL: at
    // the start).
    {"_collect", R"(
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
END)",
     Audience::everybody},
    // One change of the configuration; p_value NULL unsets permits. p_only_at not NULL: only if
    // that is the configuration's version; else nothing, and the answer is what there is.
    {"_change", R"(
CREATE PROCEDURE {space}_change(
  p_kind VARBINARY(16), p_name VARBINARY(255), p_mode TINYINT, p_value BIGINT, p_only_at BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_version BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT config_version INTO v_version FROM {space}_space WHERE id = 1 FOR UPDATE;
  IF p_only_at IS NULL OR p_only_at = v_version THEN
    IF p_kind = 'permits' AND p_value IS NULL THEN
      DELETE FROM {space}_lock_permits WHERE name = p_name AND mode = p_mode;
    ELSEIF p_kind = 'permits' THEN
      INSERT INTO {space}_lock_permits VALUES (p_name, p_mode, p_value)
        ON DUPLICATE KEY UPDATE permits = p_value;
    END IF;
    UPDATE {space}_space SET config_version = {next_version},
      max_lease_us = IF(p_kind = 'max_lease', p_value, max_lease_us),
      migration_phase = IF(p_kind = 'phase', p_value, migration_phase),
      stamp_base = IF(p_kind = 'stamp_base', GREATEST(stamp_base, p_value), stamp_base)
      WHERE id = 1;
  END IF;
  SELECT 'space', NULL, config_version, max_lease_us, migration_phase, stamp_base
    FROM {space}_space WHERE id = 1
  UNION ALL SELECT 'permits', name, mode, permits, NULL, NULL FROM {space}_lock_permits
  UNION ALL SELECT 'epoch', app, epoch, NULL, NULL, NULL FROM {space}_epochs;
  COMMIT;
  {check_kept}
END)",
     Audience::operators},
};

}  // namespace

std::span<const NamedSql> hold_procedure_texts() { return procedures; }

}  // namespace lockset::mysql
