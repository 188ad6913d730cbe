-- # Gives the configuration another version.
-- #
-- # The version of the configuration is a sequence, changed and compared under the space's
-- # lock: an acquire holds it shared until its end, a change holds it exclusively. So when
-- # a change returns, no step is under way that was decided by the old configuration.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

-- REQUIRES: the space's lock is held alone. The version was never used before, not even by
-- a database that was restored from a backup.
CREATE OR REPLACE FUNCTION "@space@".next_version_v@version@() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT setval('"@space@".config_version'::regclass,
                greatest(last_value + 1,
                         (date_part('epoch', clock_timestamp()) * 1000000)::bigint))
    FROM "@space@".config_version
$$;
