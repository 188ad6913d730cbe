-- # The rows that load_config and change_config answer: a kind and what it says.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

CREATE OR REPLACE FUNCTION "@space@".config_rows_v@version@(
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'v'::"char", NULL::text, NULL::"char",
         pg_sequence_last_value('"@space@".config_version'::regclass)
  UNION ALL SELECT 'l', NULL, NULL, max_lease FROM "@space@".meta
  UNION ALL SELECT 'o', NULL, NULL, max_overtakes FROM "@space@".meta
  UNION ALL SELECT 'm', NULL, NULL, migration_phase FROM "@space@".meta
  UNION ALL SELECT 'b', NULL, NULL, stamp_base FROM "@space@".meta
  UNION ALL SELECT 'p', name, mode, permits FROM "@space@".lock_permits
  UNION ALL SELECT 'e', app, NULL, epoch FROM "@space@".epochs
$$;
