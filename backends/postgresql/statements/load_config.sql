-- # Reads the configuration.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @plans@: how the function's statements are planned

CREATE OR REPLACE FUNCTION "@space@".load_config_v@version@(
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(@class@, 0);
  RETURN QUERY SELECT * FROM "@space@".config_rows_v@version@();
END $$;
