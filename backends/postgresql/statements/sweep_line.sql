-- # Takes dead waiters out of the line.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

-- Removes waiters that stopped refreshing their rows.
CREATE OR REPLACE FUNCTION "@space@".sweep_line_v@version@() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _one record;
BEGIN
  FOR _one IN SELECT w.id, w.names, w.woken FROM "@space@".waiters w
               WHERE w.expires <= clock_timestamp() ORDER BY w.id LIMIT 500
               FOR UPDATE SKIP LOCKED
  LOOP
    DELETE FROM "@space@".waiters w WHERE w.id = _one.id;
    DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_one.names) AND n.id = _one.id;
    IF _one.woken IS NOT NULL THEN
      PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_one.names) n;
    END IF;
  END LOOP;
END $$;
