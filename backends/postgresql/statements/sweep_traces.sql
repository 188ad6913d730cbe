-- # Removes traces that nobody has observed for a while.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned

-- Some of those that were not observed for so many microseconds. Returns how many. What another
-- transaction has locked was just observed or written, and is left for the next sweep.
CREATE OR REPLACE FUNCTION "@space@".sweep_traces_v@version@(_unobserved bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _before timestamptz := clock_timestamp() - _unobserved * interval '1 microsecond';
  _names text[];
  _removed integer;
BEGIN
  _names := ARRAY(SELECT t.name FROM "@space@".traces t WHERE t.observed <= _before
                   ORDER BY t.observed LIMIT 500 FOR UPDATE SKIP LOCKED);
  DELETE FROM "@space@".traces t WHERE t.name = ANY(_names) AND t.observed <= _before;
  GET DIAGNOSTICS _removed = ROW_COUNT;
  RETURN _removed;
END $$;
