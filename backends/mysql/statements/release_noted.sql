-- # Ends a hold, and notes that it has ended: a release by another process than the one that was
-- # granted the hold, a break, or a release while the space may have lost holds. With p_mine, the
-- # holder ends in a quarantine what the space may have forgotten, once.
-- #
-- # Answers whether it has ended the hold, and whom to tell.
-- #
-- # Its row in `ended` comes first: a registration of the hold that is under way has that row, too,
-- # and is waited for.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_release_noted(p_stamp BIGINT, p_app VARBINARY(255), p_mine TINYINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_name VARBINARY(255);
  DECLARE v_left, v_expires, v_until BIGINT DEFAULT 0;
  DECLARE v_items, v_ended INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  IF p_mine THEN
    CALL {space}_lost(v_left);
  END IF;
  SET @lockset_wake = NULL, @lockset_freed = '';
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  INSERT INTO {space}_ended VALUES (p_stamp, 0) ON DUPLICATE KEY UPDATE until = until;
  SELECT until INTO v_until FROM {space}_ended WHERE stamp = p_stamp;
  SELECT name, items INTO v_name, v_items FROM {space}_locks FORCE INDEX (by_stamp)
    WHERE stamp = p_stamp AND item = 0 AND app = p_app;
  IF v_name IS NOT NULL THEN
    -- Behind its lock a renewal is over.
    SELECT expires INTO v_expires FROM {space}_locks
      WHERE name = v_name AND stamp = p_stamp AND item = 0 FOR UPDATE;
    DELETE FROM {space}_locks
      WHERE name = v_name AND stamp = p_stamp AND item = 0
        AND (expires IS NULL OR expires > {now});
    SET v_ended = ROW_COUNT();
    IF v_ended = 1 THEN
      SET @lockset_freed = CONCAT(CHAR(LENGTH(v_name)), v_name);
      IF v_items > 1 THEN
        CALL {space}_end_rest(p_stamp);
      END IF;
      IF EXISTS (SELECT 1 FROM {space}_waiters) THEN
        CALL {space}_wake_freed();
      END IF;
    END IF;
  END IF;
  IF v_ended = 0 AND v_left > 0 AND v_until = 0 THEN
    SET v_ended = 1, v_expires = {now};
  END IF;
  IF v_ended = 1 THEN
    CALL {space}_entomb(p_stamp, v_expires);
    COMMIT;
  ELSE
    ROLLBACK;
  END IF;
  SELECT v_ended, @lockset_wake;
END
