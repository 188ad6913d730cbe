-- # An acquire of one name: the usual case in few statements (each costs about as much as
-- # the floor's whole insert): one name, which is known, free and waited for by nobody, the counter
-- # of stamps is up to date, and the server is the one of before. In every other case it starts
-- # again in the procedure of acquire.sql, in the same round trip.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures
-- #   {procedure}: _acquire_rows or _acquire_key, by strategy
-- #   {lock}: lock_one_row.sql or lock_one_key.sql, by strategy
-- #   {now}: the server's clock, in microseconds since 1970
-- #   {keeps}: the condition that the server is the one that is written to, and a crash loses
-- #     nothing
-- #   {here}: as in lost.sql

CREATE PROCEDURE {space}{procedure}_one(
  p_version BIGINT, p_name VARBINARY(255), p_permits BIGINT, p_mode TINYINT, p_lease BIGINT,
  p_token BINARY(16), p_app VARBINARY(255), p_instance VARBINARY(255), p_epoch BIGINT,
  p_label VARBINARY(1024), p_least BIGINT, p_patience BIGINT,
  p_waiter BIGINT, p_overtakes BIGINT, p_listener VARBINARY(32), p_ticket BIGINT)
MODIFIES SQL DATA SQL SECURITY DEFINER
main: BEGIN
  DECLARE v_began BIGINT DEFAULT {now};
  DECLARE v_low, v_base, v_now, v_seen, v_waiter, v_traced BIGINT;
  DECLARE v_home VARBINARY(96);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  {lock}
  SELECT s.stamp_base, {now},
         (SELECT MIN(l.stamp) FROM {space}_locks l
           WHERE l.name = p_name AND l.stamp >= v_low),
         (SELECT MIN(n.id) FROM {space}_waiter_names n WHERE n.name = p_name),
         (SELECT t.last_write FROM {space}_traces t WHERE t.name = p_name),
         (SELECT h.home FROM {space}_home h WHERE h.id = 1)
    INTO v_base, v_now, v_seen, v_waiter, v_traced, v_home
    FROM {space}_space s WHERE s.id = 1 AND s.config_version = p_version LOCK IN SHARE MODE;
  IF v_low IS NOT NULL AND v_base IS NOT NULL AND v_seen IS NULL
     AND v_waiter IS NULL AND v_now - v_began <= p_patience AND {keeps}
     AND v_home = {here} THEN
    INSERT INTO {space}_locks
      (name, stamp, item, mode, items, app, instance, epoch, label, token, created, expires)
      VALUES (p_name, NULL, 0, p_mode, 1, p_app, p_instance, p_epoch, p_label, p_token,
              v_now, v_now + p_lease);
    IF LAST_INSERT_ID() >= GREATEST(p_least, v_base + 1, v_low, v_now - 1000000) THEN
      IF LAST_INSERT_ID() - v_low > 5000000 THEN
        UPDATE {space}_names SET low = LAST_INSERT_ID() WHERE name = p_name;
      END IF;
      IF v_traced IS NOT NULL AND p_mode = 1 THEN
        UPDATE {space}_traces SET last_write = LAST_INSERT_ID(), label = p_label, granted = v_now
          WHERE name = p_name;
      END IF;
      COMMIT;
      SELECT IF({keeps}, 'granted', 'unsure'), LAST_INSERT_ID(), v_now, p_lease, NULL, NULL;
      LEAVE main;
    END IF;
  END IF;
  ROLLBACK;
  CALL {space}{procedure}(
    p_version, p_name, NULL,
    JSON_ARRAY(JSON_ARRAY(CONVERT(p_name USING utf8mb4), p_mode, p_permits)), 1, p_mode, p_lease,
    p_token, p_app, p_instance, p_epoch, p_label, p_least, p_patience - (v_now - v_began),
    p_waiter, p_overtakes, p_listener, p_ticket);
END
