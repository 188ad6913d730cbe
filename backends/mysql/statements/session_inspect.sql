-- # With strategy=session: what the clients have listed, of holds whose locks are held. p_match 0:
-- # all; 1: holds with a name from p_from to p_to.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

CREATE PROCEDURE {space}_session_inspect(
  p_match INT, p_from VARBINARY(256), p_to VARBINARY(256))
READS SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  -- A release unlocks one key after the other: a set is shown as a whole, or not at all.
  SELECT h.stamp, h.app, h.instance, h.epoch, h.label, h.since, h.ends - v_now, h.name, h.mode
    FROM {space}_session_holds h
    JOIN (SELECT stamp FROM {space}_session_holds GROUP BY stamp
           HAVING MIN(COALESCE(IS_USED_LOCK(lock_name) = session, 0)) = 1) live
      ON live.stamp = h.stamp
   WHERE h.ends > v_now
     AND (p_match = 0 OR h.stamp IN (
            SELECT m.stamp FROM {space}_session_holds m WHERE m.name BETWEEN p_from AND p_to))
   ORDER BY h.stamp, h.name;
END
