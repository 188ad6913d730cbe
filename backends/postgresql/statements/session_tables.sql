-- # What only strategy=session has: tables in which the space's clients answer what others ask
-- # them. The holds themselves are session-level advisory locks; no table decides anything.
-- #
-- # Unlogged: a crash of the server ends every session, and every hold with it.
-- #
-- # Filled in:
-- #   @space@: the schema

DO $sessions$
BEGIN
  IF to_regclass('"@space@".session_holds') IS NULL THEN
    -- One row per client. It lives while its connection keeps the advisory lock of its number.
    CREATE UNLOGGED TABLE "@space@".session_clients (
      client integer PRIMARY KEY,
      answered bigint NOT NULL     -- the last request that it has answered
    );
    -- One row per hold and name, as its client last published them.
    CREATE UNLOGGED TABLE "@space@".session_holds (
      stamp bigint NOT NULL,
      key bigint NOT NULL,
      since bigint NOT NULL,
      ends bigint NOT NULL,
      epoch bigint NOT NULL,
      client integer NOT NULL,
      pid integer NOT NULL,        -- the session that holds it
      mode "char" NOT NULL,
      name text COLLATE "C" NOT NULL,
      app text COLLATE "C" NOT NULL,
      instance text NOT NULL,
      label text NOT NULL
    );
    CREATE INDEX session_holds_key ON "@space@".session_holds (key);
    CREATE INDEX session_holds_client ON "@space@".session_holds (client);
    -- The requests by which a hold was ended.
    CREATE UNLOGGED TABLE "@space@".session_ended (
      request bigint PRIMARY KEY
    );
    CREATE SEQUENCE "@space@".session_requests AS bigint NO CYCLE CACHE 1;
    CREATE SEQUENCE "@space@".session_numbers AS integer CYCLE CACHE 1;
  END IF;
END $sessions$;
