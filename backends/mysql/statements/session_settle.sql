-- # With strategy=session: the calling session becomes the keeper, unless there is one: it holds the
-- # user-level lock of a new token. While that is held, a stamp is the server's counter
-- # (UUID_SHORT) plus the offset that is settled here, and the configuration is the present one.
-- #
-- # The first stamp is above all that were drawn before, on whatever server, as far as this row
-- # knows of them, and not behind the clock.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {window}: how far stamps may be above stamp_floor
-- #   {counter}: the next value of the server's counter
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {check_kept}: answers an error if, after the commit, the server is no longer the one
-- #     that is written to, or a crash may lose something

CREATE PROCEDURE {space}_session_settle(p_token VARBINARY(40), p_keeper VARBINARY(64))
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_base, v_floor, v_counter BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    DO RELEASE_LOCK(CONCAT('lockset ', p_token)), RELEASE_LOCK(p_keeper);
    RESIGNAL;
  END;
  {check_keeps}
  IF GET_LOCK(p_keeper, 0) = 1 THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SELECT stamp_base INTO v_base FROM {space}_space WHERE id = 1 LOCK IN SHARE MODE;
    SELECT stamp_floor INTO v_floor FROM {space}_session WHERE id = 1 FOR UPDATE;
    SET v_counter = {counter};
    SET v_floor = GREATEST(v_floor + {window} + 1, v_base + 1, {now});
    UPDATE {space}_session SET token = p_token, stamp_floor = v_floor,
      stamp_offset = v_floor - v_counter WHERE id = 1;
    DO GET_LOCK(CONCAT('lockset ', p_token), 0);
    COMMIT;
    {check_kept}
    SELECT 'keeper';
  ELSE
    SELECT 'other';
  END IF;
END
