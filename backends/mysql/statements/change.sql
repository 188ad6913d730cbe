-- # Makes one change of the configuration, for operators; p_value NULL unsets permits. If
-- # p_only_at is not NULL and not the configuration's version, it changes nothing and
-- # answers the present configuration. Wakes all waiters: their requests are stale, and
-- # permits may admit them. The last row names whom to tell.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {next_version}: what follows the column config_version
-- #   {note_longest}: note_longest.sql; nothing with strategy=session
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {check_kept}: answers an error if, after the commit, the server is no longer the one
-- #     that is written to, or a crash may lose something

CREATE PROCEDURE {space}_change(
  p_kind VARBINARY(16), p_name VARBINARY(255), p_mode TINYINT, p_value BIGINT, p_only_at BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_version BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  SET @lockset_wake = NULL;
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
    {note_longest}
    UPDATE {space}_space SET config_version = {next_version},
      max_lease_us = IF(p_kind = 'max_lease', p_value, max_lease_us),
      migration_phase = IF(p_kind = 'phase', p_value, migration_phase),
      stamp_base = IF(p_kind = 'stamp_base', GREATEST(stamp_base, p_value), stamp_base)
      WHERE id = 1;
    CALL {space}_wake_all();
  END IF;
  SELECT 'space', NULL, config_version, max_lease_us, migration_phase, stamp_base
    FROM {space}_space WHERE id = 1
  UNION ALL SELECT 'permits', name, mode, permits, NULL, NULL FROM {space}_lock_permits
  UNION ALL SELECT 'epoch', app, epoch, NULL, NULL, NULL FROM {space}_epochs
  UNION ALL SELECT 'wake', @lockset_wake, NULL, NULL, NULL, NULL;
  COMMIT;
  {check_kept}
END
