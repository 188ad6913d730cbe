-- # Draws a stamp that no hold gets, as acquire.sql does.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

CREATE PROCEDURE {space}_draw(OUT p_stamp BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_base, v_target BIGINT;
  DECLARE v_taken INT DEFAULT 0;
  SELECT stamp_base INTO v_base FROM {space}_space WHERE id = 1;
  draw: LOOP
    INSERT INTO {space}_locks (name, stamp, item, mode) VALUES ('', NULL, 0, 0);
    SET p_stamp = LAST_INSERT_ID();
    DELETE FROM {space}_locks WHERE name = '' AND stamp = p_stamp;
    IF v_target IS NULL THEN
      IF p_stamp > v_base AND p_stamp >= {now} - 1000000 THEN
        LEAVE draw;
      END IF;
      SET v_target = GREATEST(v_base + 1, {now});
    END IF;
    IF p_stamp >= v_target THEN
      LEAVE draw;
    END IF;
    SET v_taken = v_taken + 1;
    IF v_taken > 3 THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the counter of stamps can not be raised';
    END IF;
    INSERT INTO {space}_locks (name, stamp, item, mode) VALUES ('', v_target - 1, 0, 0);
    DELETE FROM {space}_locks WHERE name = '' AND stamp = v_target - 1;
  END LOOP;
END
