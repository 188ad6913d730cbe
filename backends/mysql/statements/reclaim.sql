-- # Begins an application's epoch and ends its older holds. Wakes all waiters: their requests
-- # are stale. Answers what it has done, how many holds it has ended, and whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {next_version}: what follows the column config_version
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {check_kept}: answers an error if, after the commit, the server is no longer the one
-- #     that is written to, or a crash may lose something

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
  CALL {space}_wake_all();
  COMMIT;
  {check_kept}
  SELECT 'done', v_ended, @lockset_wake;
END
