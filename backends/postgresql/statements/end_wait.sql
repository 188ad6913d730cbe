-- # Takes a waiter that gave up out of the line.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned

-- The waiter gave up. If it was woken, it passes the wake-up on to the next.
CREATE OR REPLACE FUNCTION "@space@".end_wait_v@version@(_waiter bigint, _woken boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _me record;
BEGIN
  DELETE FROM "@space@".waiters w WHERE w.id = _waiter RETURNING w.names, w.woken INTO _me;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_me.names) AND n.id = _waiter;
  IF _woken OR _me.woken IS NOT NULL THEN
    PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_me.names) n;
  END IF;
END $$;
