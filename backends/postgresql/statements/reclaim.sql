-- # Begins an application's epoch and ends its older holds.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @plans_of_all@: how the statements of a function are planned that reads all holds
-- #   @sure@: what makes the commit wait for a synchronous standby

-- A number: the holds ended. 'H': a higher epoch has begun. 'N': the hold is not live.
CREATE OR REPLACE FUNCTION "@space@".reclaim_v@version@(_app text, _epoch bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _present bigint;
  _head record;
  _ended integer := 0;
  _old bigint[] := '{}';
  _names text[];
BEGIN
  PERFORM pg_advisory_xact_lock(@class@, 0);
  SELECT e.epoch INTO _present FROM "@space@".epochs e WHERE e.app = _app;
  IF _present > _epoch THEN
    RETURN 'H' || _present;
  END IF;
  PERFORM FROM "@space@".locks h
    WHERE h.stamp = _epoch AND h.app = _app AND h.expires > clock_timestamp() FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'N';
  END IF;
  -- Asked for again (the first answer may have been lost), it ends what came since.
  IF _present IS DISTINCT FROM _epoch THEN
    INSERT INTO "@space@".epochs VALUES (_app, _epoch)
    ON CONFLICT (app) DO UPDATE SET epoch = excluded.epoch;
    PERFORM "@space@".next_version_v@version@();
  END IF;
  FOR _head IN SELECT h.stamp, h.expires > clock_timestamp() AS live FROM "@space@".locks h
                WHERE h.app = _app AND h.epoch < _epoch AND h.stamp <> _epoch
                  AND h.expires IS NOT NULL
                ORDER BY h.stamp FOR UPDATE
  LOOP
    _old := _old || _head.stamp;
    _ended := _ended + _head.live::integer;
  END LOOP;
  WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = ANY(_old) RETURNING l.name)
  SELECT array_agg(DISTINCT g.name) INTO _names FROM gone g;
  PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
  PERFORM "@space@".wake_all_v@version@();
  @sure@
  RETURN _ended::text;
END $$;
