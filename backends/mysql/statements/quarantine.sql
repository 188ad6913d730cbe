-- # For how many microseconds nothing is granted (lost.sql), and since when the space is on this
-- # server.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {check_writable}: refuses where the server is not the one that is written to

CREATE PROCEDURE {space}_quarantine()
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_left BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_writable}
  CALL {space}_lost(v_left);
  SELECT v_left, (SELECT h.since FROM {space}_home h WHERE h.id = 1);
END
