-- # The last write of each name that somebody observed (semantics 27).
-- #
-- # Filled in:
-- #   @space@: the schema

DO $traces$
BEGIN
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = '@space@' AND c.relname = 'traces') THEN
    RETURN;
  END IF;
  CREATE TABLE "@space@".traces (
    last_write bigint NOT NULL,
    granted timestamptz,       -- NULL: not known
    observed timestamptz NOT NULL,
    label text NOT NULL,
    name text COLLATE "C" PRIMARY KEY
  ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500,
          autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX traces_observed ON "@space@".traces (observed);
  -- It has no last value from the moment on when somebody observes for the first time, or while a
  -- backup is being restored. A sequence, because a grant can read it at a tenth of what a look
  -- into a table costs, and as it is now.
  CREATE SEQUENCE "@space@".never_observed AS bigint NO CYCLE CACHE 1;
  PERFORM setval('"@space@".never_observed', 1);
  -- An acquire of an older program's function that has begun and waits for the space's lock would
  -- leave no trace. So it is stale.
  PERFORM setval('"@space@".config_version',
                 greatest(v.last_value + 1,
                          (date_part('epoch', clock_timestamp()) * 1000000)::bigint))
     FROM "@space@".config_version v;
END $traces$;
