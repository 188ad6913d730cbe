-- # Changes the configuration if it has a known version, for operators.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @plans@: how the function's statements are planned

-- The same if the configuration's version is _only_at; else nothing, and the answer is what
-- there is.
CREATE OR REPLACE FUNCTION "@space@".change_config_at_v@version@(
  _only_at bigint, _what "char", _of text, _of_mode "char", _to bigint,
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(@class@, 0);
  IF (SELECT last_value FROM "@space@".config_version) = _only_at THEN
    RETURN QUERY SELECT * FROM "@space@".change_config_v@version@(_what, _of, _of_mode, _to);
  ELSE
    RETURN QUERY SELECT * FROM "@space@".config_rows_v@version@();
  END IF;
END $$;
