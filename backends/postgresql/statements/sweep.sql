-- # Removes what has expired.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @sweep_names@: sweep_names.sql with strategy=serializable, else a comment

-- Looks at so many rows behind `_from`, removes some expired holds. The next `_from`; 0 at
-- the end. Rows that another transaction has locked are left for the next sweep.
CREATE OR REPLACE FUNCTION "@space@".sweep_v@version@(
  _from bigint, _from_name text, OUT _removed integer, OUT _next bigint, OUT _next_name text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _one bigint;
  _looked integer := 0;
  _expired bigint[];
  _names text[];
  _name text;
  _unused text[];
  -- Names that were not granted for an hour.
  _old bigint := (date_part('epoch', _now - interval '1 hour') * 1000000)::bigint;
BEGIN
  _removed := 0;
  SELECT array_agg(s.stamp ORDER BY s.stamp) FILTER (WHERE s.expires <= _now), count(*),
         max(s.stamp)
    INTO _expired, _looked, _next
    FROM (SELECT l.stamp, l.expires FROM "@space@".locks l WHERE l.stamp > _from
           ORDER BY l.stamp LIMIT 20000) s;
  IF _looked < 20000 THEN
    _next := 0;
  END IF;
  IF cardinality(_expired) > 500 THEN
    _expired := _expired[1:500];
    _next := _expired[500];
  END IF;
  -- One by one: what is removed is woken for.
  FOR _one IN SELECT h.stamp FROM "@space@".locks h
               WHERE h.stamp = ANY(_expired) AND h.expires <= _now
               ORDER BY h.stamp FOR UPDATE SKIP LOCKED
  LOOP
    WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = _one RETURNING l.name)
    SELECT array_agg(g.name) INTO _names FROM gone g;
    PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
    _removed := _removed + 1;
  END LOOP;
  DELETE FROM "@space@".ended e
   WHERE e.stamp = ANY(ARRAY(SELECT o.stamp FROM "@space@".ended o WHERE o.until < _now
                              LIMIT 10000 FOR UPDATE SKIP LOCKED));
  PERFORM "@space@".sweep_line_v@version@();
  _next_name := '';
  @sweep_names@
END $$;
