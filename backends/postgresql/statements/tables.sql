-- # Checks, tables and sequences.
-- #
-- # Names are text in a UTF8 database under the collation "C": they compare by bytes.
-- #
-- # A hold has one row in `locks` for each of its names. The row of its first name is the
-- # head: it alone has an end (expires), so the lease stands in one place, and a step that
-- # ends the hold deletes the head first. A hold on one name is one row.
-- #
-- # Few indexes, and none on what a renewal changes, so that it updates in place (HOT).
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @strategy@: the strategy's name
-- #   @max_overtakes@: how often a waiter is overtaken at most, unless set
-- #   @here@: the value that `home` should have on this server (quarantine.sql)
-- #   @identity@: the identity of this server and this space

DO $init$
DECLARE
  _version integer;
  _strategy text;
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = 'the database has the encoding '
      || current_setting('server_encoding') || ', and names need UTF8: make another database';
  END IF;
  -- One of ours, which nobody else can exchange. (Whatever else may have that name makes the
  -- creation below fail.)
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = '@space@' AND c.relname = 'meta' AND c.relkind = 'r'
                AND pg_get_userbyid(c.relowner) = current_user) THEN
    SELECT schema_version, strategy INTO _version, _strategy FROM "@space@".meta;
    IF _version > @version@ THEN
      RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = 'the space has version ' || _version
        || ' of the schema, and this program makes version @version@: use a newer program';
    END IF;
    IF _strategy <> '@strategy@' THEN
      RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = 'the space was made with strategy='
        || _strategy || ', which can''t be changed: leave strategy= out, or name another space';
    END IF;
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = '@space@') THEN
    RAISE EXCEPTION USING ERRCODE = 'LS001', MESSAGE = 'the schema @space@ holds tables of '
      'something else, and was left as it is: name another with space=';
  END IF;

  CREATE SCHEMA IF NOT EXISTS "@space@";
  -- One row.
  CREATE TABLE "@space@".meta (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    schema_version integer NOT NULL,
    strategy text NOT NULL,
    script text NOT NULL,
    max_lease bigint NOT NULL,
    migration_phase bigint NOT NULL,
    stamp_base bigint NOT NULL
  );
  INSERT INTO "@space@".meta VALUES (true, @version@, '@strategy@', '', 600000000, 0, 0);
  CREATE TABLE "@space@".lock_permits (
    name text COLLATE "C" NOT NULL,
    mode "char" NOT NULL CHECK (mode IN ('r', 'w')),
    permits integer NOT NULL CHECK (permits > 0),
    PRIMARY KEY (name, mode)
  );
  CREATE TABLE "@space@".epochs (
    app text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL
  );
  CREATE TABLE "@space@".locks (
    stamp bigint NOT NULL,
    expires timestamptz,       -- the head's alone; infinity: held until released
    created timestamptz,
    epoch bigint,
    token uuid,
    size smallint,             -- how many rows the hold has
    mode "char" NOT NULL,
    alone boolean NOT NULL DEFAULT false,
    name text COLLATE "C" NOT NULL,
    app text COLLATE "C",
    instance text,
    label text
  ) WITH (fillfactor = 85, autovacuum_vacuum_threshold = 500,
          autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
          autovacuum_vacuum_insert_scale_factor = 0.1);
  CREATE INDEX locks_name ON "@space@".locks (name);
  CREATE INDEX locks_stamp ON "@space@".locks (stamp);
  -- Who waits. Nobody depends on it, so it need not survive a crash.
  CREATE UNLOGGED TABLE "@space@".waiters (
    id bigint PRIMARY KEY,
    since timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    woken timestamptz,
    epoch bigint NOT NULL,
    channel text NOT NULL,
    ticket text NOT NULL,      -- its name on that channel
    app text NOT NULL,
    instance text NOT NULL,
    label text NOT NULL,
    names text[] NOT NULL,
    modes "char"[] NOT NULL
  ) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 500,
          autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  CREATE UNLOGGED TABLE "@space@".waiter_names (
    name text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    mode "char" NOT NULL,
    PRIMARY KEY (name, id)
  ) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02,
          autovacuum_vacuum_cost_delay = 0);
  -- Stamps, and the numbers of waiters. Never with a cache: a session would draw numbers
  -- that are older than another's.
  CREATE SEQUENCE "@space@".stamps AS bigint NO CYCLE CACHE 1;
  -- The version of the configuration. A sequence, because that is always read as it is
  -- now and not as a snapshot saw it.
  CREATE SEQUENCE "@space@".config_version AS bigint NO CYCLE CACHE 1;
  PERFORM setval('"@space@".config_version',
                 (date_part('epoch', clock_timestamp()) * 1000000)::bigint);
  PERFORM setval('"@space@".stamps',
                 (date_part('epoch', clock_timestamp()) * 1000000)::bigint);
  IF '@strategy@' = 'serializable' THEN
    -- A permanent row for each name: the last grant's stamp, negative once it is known
    -- that nobody holds the name any more.
    CREATE TABLE "@space@".names (
      name text COLLATE "C" PRIMARY KEY,
      last bigint NOT NULL
    ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500,
            autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  END IF;
END $init$;

-- When somebody last registered as a waiter, in microseconds. A sequence, because a release can
-- read it at a tenth of what a look into a table costs. Of two who set it at once either may be
-- the last: they differ by less than what a reader allows for.
CREATE SEQUENCE IF NOT EXISTS "@space@".last_wait AS bigint NO CYCLE CACHE 1;

-- What a space of an older program lacks. (IF NOT EXISTS alone would lock the tables each time.)
DO $add$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = '"@space@".meta'::regclass
                    AND a.attname = 'max_overtakes') THEN
    ALTER TABLE "@space@".meta
      ADD COLUMN max_overtakes bigint NOT NULL DEFAULT @max_overtakes@;
    ALTER TABLE "@space@".waiters ADD COLUMN overtaken integer NOT NULL DEFAULT 0;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = '"@space@".meta'::regclass
                    AND a.attname = 'identity') THEN
    -- Of the server that the space was last used on. `synchronous_failover`: a promoted standby has
    -- every grant that was answered, as the operator says. `lost`: when that last became another one.
    -- `lost_stamp`: drawn then. `longest`: the end of leases that are longer than max_lease.
    ALTER TABLE "@space@".meta
      ADD COLUMN identity text NOT NULL DEFAULT '',
      ADD COLUMN synchronous_failover boolean NOT NULL DEFAULT false,
      ADD COLUMN quarantine_until timestamptz NOT NULL DEFAULT '-infinity',
      ADD COLUMN lost timestamptz,
      ADD COLUMN lost_stamp bigint NOT NULL DEFAULT 0,
      ADD COLUMN longest timestamptz NOT NULL DEFAULT '-infinity';
    UPDATE "@space@".meta SET identity = @identity@;
    -- Holds that somebody else than their holder ended: they are not registered again.
    CREATE TABLE "@space@".ended (
      stamp bigint PRIMARY KEY,
      until timestamptz NOT NULL  -- when its holder has noticed; infinity: perhaps never
    ) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02,
            autovacuum_vacuum_cost_delay = 0);
    -- Its value says that grants are allowed on this server.
    CREATE SEQUENCE "@space@".home AS bigint NO CYCLE CACHE 1;
    PERFORM setval('"@space@".home', @here@);
  END IF;
END $add$;
