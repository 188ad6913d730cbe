-- # Renews holds.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned

-- All holds of a call. REQUIRES: each stamp once, ascending, so that two calls lock in the
-- same order. A lease below 0 means for ever. It never shortens.
CREATE OR REPLACE FUNCTION "@space@".renew_v@version@(
  _app text, _stamps bigint[], _leases bigint[], OUT _stamp bigint, OUT _left bigint,
  OUT _clock bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _most bigint;
  _now timestamptz;
BEGIN
  -- The first row: the clock, and for how long nothing is granted: then what is not there may have
  -- been lost.
  _left := "@space@".quarantine_v@version@();
  SELECT m.max_lease INTO _most FROM "@space@".meta m;
  IF _most < ANY(_leases) THEN
    PERFORM "@space@".note_lease_v@version@((SELECT max(l) FROM unnest(_leases) l));
  END IF;
  _now := clock_timestamp();
  _clock := (date_part('epoch', _now) * 1000000)::bigint;
  RETURN NEXT;
  RETURN QUERY
  UPDATE "@space@".locks h
     SET expires = greatest(h.expires, CASE WHEN r.lease < 0 THEN 'infinity'
                                       ELSE _now + r.lease * interval '1 microsecond' END)
    FROM unnest(_stamps, _leases) r(stamp, lease)
   WHERE h.stamp = r.stamp AND h.app = _app AND h.expires > clock_timestamp()
  RETURNING h.stamp, CASE WHEN isfinite(h.expires)
                     THEN (date_part('epoch', h.expires - _now) * 1000000)::bigint ELSE -1 END,
            NULL::bigint;
END $$;
