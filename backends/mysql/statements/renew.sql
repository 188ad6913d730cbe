-- # Renews holds. p_holds: [[stamp, name of item 0, lease, permanent], ...] by ascending
-- # stamp, so that two renewals of the same holds lock them in the same order. The expiry
-- # is checked when the row is locked; a hold that the update did not touch is not live
-- # later either.
-- #
-- # The last row: 0, whether `home` is this run of the server (lost.sql), the clock, and the
-- # longest lease.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {holds}: the holds of the call, as a table
-- #   {here}: as in lost.sql
-- #   {check_keeps}: refuses where the server is not the one that is written to, or a crash
-- #     may lose something
-- #   {check_kept}: answers an error if, after the commit, the server is no longer the one
-- #     that is written to, or a crash may lose something

CREATE PROCEDURE {space}_renew(p_app VARBINARY(255), p_holds LONGTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE v_now BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  {check_keeps}
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  UPDATE {holds} j
    STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp = j.stamp
    SET l.expires = IF(l.expires IS NULL OR j.permanent = 1, NULL,
                       GREATEST(l.expires, {now} + j.lease))
    WHERE l.item = 0 AND l.app = p_app AND (l.expires IS NULL OR l.expires > {now});
  SET v_now = {now};
  -- The lease counts from the update, a little before v_now.
  SELECT j.stamp, GREATEST(l.expires - v_now, j.lease), v_now, 0
    FROM {holds} j
    STRAIGHT_JOIN {space}_locks l ON l.name = CAST(j.name AS BINARY) AND l.stamp = j.stamp
    WHERE l.item = 0 AND l.app = p_app AND (l.expires IS NULL OR l.expires > v_now)
  UNION ALL
  SELECT 0, COALESCE((SELECT h.home = {here} FROM {space}_home h WHERE h.id = 1), 0), v_now,
         COALESCE((SELECT s.max_lease_us FROM {space}_space s WHERE s.id = 1), 0);
  COMMIT;
  {check_kept}
END
