-- # Says what the space was made with.
-- #
-- # Filled in:
-- #   @space@: the schema

-- Every version has it: how a program finds out whether it can serve the space.
CREATE OR REPLACE FUNCTION "@space@".about() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT concat_ws(chr(31), schema_version, strategy, script,
                   CASE WHEN synchronous_failover THEN 'synchronous' ELSE 'quarantine' END) FROM "@space@".meta
$$;
