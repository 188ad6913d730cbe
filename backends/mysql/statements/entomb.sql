-- # A hold was ended, and its holder may not know: it must not come back as a lost one.
-- # p_expires: when its lease would have ended; NULL: never.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

CREATE PROCEDURE {space}_entomb(p_stamp BIGINT, p_expires BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  DECLARE v_until BIGINT;
  -- Its holder's clock may be slower. In a quarantine, its last renewals may be what was lost.
  SET v_until = COALESCE((SELECT h.quarantine_until FROM {space}_home h WHERE h.id = 1), 0);
  SET v_until = IF(p_expires IS NULL, 9223372036854775807,
                   GREATEST(v_now, v_until,
                            p_expires + GREATEST(p_expires - v_now, 0) DIV 10));
  INSERT INTO {space}_ended VALUES (p_stamp, v_until)
    ON DUPLICATE KEY UPDATE until = GREATEST(until, v_until);
END
