-- # Takes a waiter that gave up out of the line.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned

-- The waiter gave up. If it was woken, it passes the wake-up on to the next; if names were kept
-- for it, others may have waited for nothing else. So the next is woken always, and `_woken` is
-- only there for older programs' sake.
CREATE OR REPLACE FUNCTION "@space@".end_wait_v@version@(_waiter bigint, _woken boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _mine text[];
BEGIN
  DELETE FROM "@space@".waiters w WHERE w.id = _waiter RETURNING w.names INTO _mine;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_mine) AND n.id = _waiter;
  PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_mine) n;
END $$;
