-- # Wakes every waiter.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970

CREATE PROCEDURE {space}_wake_all()
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT DEFAULT {now};
  UPDATE {space}_waiters SET woken = COALESCE(woken, v_now), calls = calls + 1
    WHERE expires > v_now;
  SET @lockset_wake = (SELECT GROUP_CONCAT(DISTINCT w.listener) FROM {space}_waiters w
                        WHERE w.expires > v_now);
END
