-- # Wakes the first waiter for each name in @lockset_freed: a byte for the length, and the
-- # name.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE PROCEDURE {space}_wake_freed()
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_freed MEDIUMBLOB DEFAULT @lockset_freed;
  DECLARE v_at, v_size INT DEFAULT 1;
  WHILE v_at < LENGTH(v_freed) DO
    SET v_size = ORD(SUBSTR(v_freed, v_at, 1));
    CALL {space}_wake(SUBSTR(v_freed, v_at + 1, v_size), 0, NULL);
    SET v_at = v_at + 1 + v_size;
  END WHILE;
END
