-- # Finds the hold of an attempt whose answer was lost.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans_of_all@: how the statements of a function are planned that reads all holds
-- #   @sure@: what makes the commit wait for a synchronous standby

-- The live hold of the attempt with this token. It looks among the holds on `_name`, or, if
-- that is '', among all holds.
CREATE OR REPLACE FUNCTION "@space@".resolve_v@version@(_token uuid, _name text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _head record;
BEGIN
  IF _name <> '' THEN
    SELECT h.stamp, h.expires INTO _head FROM "@space@".locks h
     WHERE h.stamp IN (SELECT l.stamp FROM "@space@".locks l WHERE l.name = _name)
       AND h.token = _token AND h.expires > _now;
  ELSE
    SELECT h.stamp, h.expires INTO _head FROM "@space@".locks h
     WHERE h.token = _token AND h.expires > _now;
  END IF;
  IF NOT FOUND THEN
    RETURN 'N';
  END IF;
  @sure@
  RETURN concat_ws(chr(31), 'G', _head.stamp,
    CASE WHEN isfinite(_head.expires)
         THEN (date_part('epoch', _head.expires - _now) * 1000000)::bigint ELSE -1 END,
    (date_part('epoch', _now) * 1000000)::bigint,
    (SELECT string_agg((SELECT min(o.stamp) FROM "@space@".locks o
                          JOIN "@space@".locks h ON h.stamp = o.stamp AND h.expires > _now
                         WHERE o.name = m.name)::text, chr(31) ORDER BY m.name)
       FROM "@space@".locks m WHERE m.stamp = _head.stamp));
END $$;
