-- # A lease longer than the longest one was renewed: a quarantine lasts until its end. (It may be
-- # longer because the longest lease was made shorter.) The client relies on its renewal only after
-- # this.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something

CREATE PROCEDURE {space}_note_lease(p_lease BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_end BIGINT DEFAULT {now} + p_lease;
  {check_keeps}
  -- With something to spare, so that not every renewal writes.
  UPDATE {space}_home SET longest = v_end + p_lease WHERE id = 1 AND longest < v_end;
END
