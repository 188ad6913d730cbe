-- # Wakes the next waiter.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @comes_within@: how soon a woken waiter comes

-- Wakes the next in line for a name: the first behind the waiter `_after`, of one mode if
-- one is given. Passes over those who were woken a while ago and did not come: they are
-- stopped or dead. Whoever is just being dealt with by another transaction is told, and so
-- is the next: that one may be on its way to be granted, and then this would be lost.
-- Locks nothing that it would have to wait for, and waits for nobody who registers behind a
-- waiter and keeps that one's row from being deleted meanwhile.
CREATE OR REPLACE FUNCTION "@space@".wake_v@version@(_name text, _after bigint, _mode "char")
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _next record;
BEGIN
  FOR _next IN
    SELECT w.id, w.channel, w.ticket, w.woken
      FROM "@space@".waiter_names n JOIN "@space@".waiters w ON w.id = n.id
     WHERE n.name = _name AND n.id > _after AND (_mode IS NULL OR n.mode = _mode)
       AND w.expires > _now AND (w.woken IS NULL OR w.woken > _now - interval '@comes_within@')
     ORDER BY n.id
  LOOP
    PERFORM pg_notify(_next.channel, _next.ticket);
    PERFORM FROM "@space@".waiters w WHERE w.id = _next.id FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
      IF _next.woken IS NULL THEN
        UPDATE "@space@".waiters w SET woken = _now WHERE w.id = _next.id;
      END IF;
      EXIT;
    END IF;
  END LOOP;
END $$;
