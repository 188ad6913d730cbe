-- # Whether the space's state may be older than what was answered from it (ADR 0079): for how many
-- # microseconds nothing is granted. 0: grants are allowed, and `home` says so. The first call
-- # after a loss begins that time: the longest lease that may have been granted before.
-- #
-- # The space keeps the identity of the server that it was last used on: which server it is, and
-- # when the table that says so was made there. A replica that was promoted is another server, and
-- # a dump makes the table anew.
-- #
-- # To look up when a table was made costs too much for each step. So a step compares `home`: the
-- # server, and when it was started. Only where that differs, this procedure is called. A dump
-- # that is restored while the server runs does not change it. Then the counter of stamps went
-- # back with the dump: so a step that has to raise the counter to the clock calls this, too.
-- #
-- # It begins and ends transactions of its own: there must be none. It locks the space's row
-- # before its own.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {next_version}: what follows the column config_version
-- #   {here}: the value that `home` has if grants are allowed
-- #   {identity}: the identity of this server and this table

CREATE PROCEDURE {space}_lost(OUT p_left BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_here, v_home VARBINARY(96) DEFAULT NULL;
  DECLARE v_identity, v_known VARBINARY(160) DEFAULT NULL;
  DECLARE v_until, v_now, v_stamp, v_longest BIGINT;
  SET v_here = {here}, v_identity = {identity}, p_left = 1000000;
  SELECT home, identity, quarantine_until INTO v_home, v_known, v_until
    FROM {space}_home WHERE id = 1;
  IF v_known IS NULL THEN
    -- Its rows are being put back from a dump.
    LEAVE main;
  END IF;
  IF v_known <> v_identity THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    -- One of those who see it at the same time writes it down.
    SELECT max_lease_us INTO v_longest FROM {space}_space WHERE id = 1 FOR UPDATE;
    SELECT identity INTO v_known FROM {space}_home WHERE id = 1 FOR UPDATE;
    IF v_known <> v_identity AND v_longest IS NOT NULL THEN
      CALL {space}_draw(v_stamp);
      SET v_now = {now};
      -- Lost stamps are below the clock by the end of the quarantine, unless they ran ahead of it.
      IF v_stamp > v_now + 1000000 THEN
        SET v_stamp = v_stamp + 1000000000;
      END IF;
      -- Traces with an older stamp don't count any more: later writes may be missing.
      UPDATE {space}_space SET stamp_base = GREATEST(stamp_base, v_stamp),
        config_version = {next_version} WHERE id = 1;
      UPDATE {space}_home
         SET home = '', identity = v_identity, since = GREATEST(since + 1, v_now), lost = v_now,
             quarantine_until = GREATEST(quarantine_until, longest, v_now + v_longest)
       WHERE id = 1;
    END IF;
    COMMIT;
    SET v_known = NULL;
    SELECT home, identity, quarantine_until INTO v_home, v_known, v_until
      FROM {space}_home WHERE id = 1;
    IF v_known IS NULL OR v_known <> v_identity THEN
      LEAVE main;
    END IF;
  END IF;
  SET v_now = {now};
  IF v_until > v_now THEN
    SET p_left = v_until - v_now;
    LEAVE main;
  END IF;
  IF v_home <> v_here THEN
    UPDATE {space}_home SET home = v_here
     WHERE id = 1 AND identity = v_identity AND quarantine_until <= v_now;
    IF ROW_COUNT() = 0 AND NOT EXISTS (SELECT 1 FROM {space}_home WHERE id = 1 AND home = v_here) THEN
      LEAVE main;
    END IF;
  END IF;
  SET p_left = 0;
END
