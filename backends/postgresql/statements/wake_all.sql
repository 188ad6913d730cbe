-- # Wakes every waiter.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

CREATE OR REPLACE FUNCTION "@space@".wake_all_v@version@() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_notify(channel, ticket) FROM "@space@".waiters
$$;
