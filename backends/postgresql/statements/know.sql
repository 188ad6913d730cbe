-- # Makes the rows of new names, for acquire_serializable.sql.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned

-- The rows of names that are used for the first time. Under READ COMMITTED: a new row
-- would make transactions on neighbouring names fail.
CREATE OR REPLACE FUNCTION "@space@".know_v@version@(_names text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
  INSERT INTO "@space@".names
  SELECT n, -(date_part('epoch', clock_timestamp()) * 1000000)::bigint
    FROM unnest(_names) n ORDER BY n COLLATE "C"
  ON CONFLICT DO NOTHING
$$;
