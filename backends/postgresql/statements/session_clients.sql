-- # How the clients of a space with strategy=session tell each other about their holds. A hold
-- # has no row: writing one would cost as much as the lock. So a question is a request with a
-- # number, sent by NOTIFY to every client; each publishes its holds and says so.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @clients@: the class of the clients' advisory locks
-- #   @channel@: the channel on which the clients listen
-- #   @plans@: how the function's statements are planned

-- A client's number, unique while this session lasts. REQUIRES: the session listens already, so
-- that no later request misses it.
CREATE OR REPLACE FUNCTION "@space@".session_register_v@version@() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _client integer;
BEGIN
  LOOP
    _client := nextval('"@space@".session_numbers'::regclass);
    EXIT WHEN pg_try_advisory_lock(@clients@, _client);
  END LOOP;
  DELETE FROM "@space@".session_holds h WHERE h.client = _client;
  INSERT INTO "@space@".session_clients
  VALUES (_client, coalesce(pg_sequence_last_value('"@space@".session_requests'::regclass), 0))
  ON CONFLICT (client) DO UPDATE SET answered = excluded.answered;
  RETURN _client;
END $$;

-- All holds of a client, in place of what it published before. It has answered all requests up to
-- `_answered`, and has ended a hold for each of `_ended`.
CREATE OR REPLACE FUNCTION "@space@".session_publish_v@version@(
  _client integer, _answered bigint, _ended bigint[], _stamps bigint[], _keys bigint[],
  _since bigint[], _ends bigint[], _epochs bigint[], _pids integer[], _modes "char"[],
  _names text[], _apps text[], _instances text[], _labels text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  DELETE FROM "@space@".session_holds h WHERE h.client = _client;
  INSERT INTO "@space@".session_holds
  SELECT u.stamp, u.key, u.since, u.ends, u.epoch, _client, u.pid, u.mode, u.name, u.app,
         u.instance, u.label
    FROM unnest(_stamps, _keys, _since, _ends, _epochs, _pids, _modes, _names, _apps, _instances,
                _labels) u(stamp, key, since, ends, epoch, pid, mode, name, app, instance, label);
  INSERT INTO "@space@".session_ended SELECT unnest(_ended) ON CONFLICT DO NOTHING;
  INSERT INTO "@space@".session_clients VALUES (_client, _answered)
  ON CONFLICT (client) DO UPDATE
    SET answered = greatest(session_clients.answered, excluded.answered);
END $$;

-- Asks every client to publish its holds (`_stamp` 0), or also to end that hold of application
-- `_app`. Returns the request's number.
CREATE OR REPLACE FUNCTION "@space@".session_ask_v@version@(_stamp bigint, _app text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _request bigint := nextval('"@space@".session_requests'::regclass);
BEGIN
  PERFORM pg_notify('@channel@', _request || ' ' || _stamp || ' =' || _app);
  RETURN _request;
END $$;

-- The same for an operator: whosever hold it is.
CREATE OR REPLACE FUNCTION "@space@".break_v@version@(_stamp bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _request bigint := nextval('"@space@".session_requests'::regclass);
BEGIN
  PERFORM pg_notify('@channel@', _request || ' ' || _stamp || ' *');
  RETURN _request;
END $$;

-- 'R': a hold was ended for this request. 'W': a client has not answered yet. 'N': all have.
-- Removes what dead clients have left.
CREATE OR REPLACE FUNCTION "@space@".session_answers_v@version@(_request bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _one integer;
  _waiting boolean := false;
BEGIN
  FOR _one IN SELECT c.client FROM "@space@".session_clients c WHERE c.answered < _request LOOP
    IF pg_try_advisory_xact_lock(@clients@, _one) THEN
      DELETE FROM "@space@".session_holds h WHERE h.client = _one;
      DELETE FROM "@space@".session_clients c WHERE c.client = _one;
    ELSE
      _waiting := true;
    END IF;
  END LOOP;
  -- Last: a client says in one transaction that it has answered and what it has ended.
  DELETE FROM "@space@".session_ended e WHERE e.request = _request;
  RETURN CASE WHEN FOUND THEN 'R' WHEN _waiting THEN 'W' ELSE 'N' END;
END $$;

-- The client of this hold does not answer: ends its session, with the other holds in it. False:
-- there is no such session. Needs an owner of the schema who may end other users' sessions.
CREATE OR REPLACE FUNCTION "@space@".session_force_v@version@(_stamp bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _pid integer;
BEGIN
  SELECT h.pid INTO _pid FROM "@space@".session_holds h
   WHERE h.stamp = _stamp
     AND EXISTS (SELECT FROM pg_locks l
                  WHERE l.pid = h.pid AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
                    AND l.database = (SELECT d.oid FROM pg_database d
                                       WHERE d.datname = current_database())
                    AND l.classid::bigint << 32 | l.objid::bigint = h.key)
   LIMIT 1;
  IF _pid IS NULL OR NOT pg_terminate_backend(_pid) THEN
    RETURN false;
  END IF;
  DELETE FROM "@space@".session_holds h WHERE h.stamp = _stamp;
  RETURN true;
END $$;

-- As quarantine.sql. Sessions end with their server, and grants are not held back for it: see
-- ADR 0074.
CREATE OR REPLACE FUNCTION "@space@".quarantine_v@version@() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT 0::bigint $$;

-- As inspect.sql, from what the clients have published. STABLE: one state.
CREATE OR REPLACE FUNCTION "@space@".inspect_v@version@(
  _match "char", _text text, OUT _kind "char", OUT _id bigint, OUT _app text,
  OUT _instance text, OUT _epoch bigint, OUT _label text, OUT _since bigint, OUT _left bigint,
  OUT _name text, OUT _mode "char") RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
BEGIN
  RETURN QUERY
  WITH held AS MATERIALIZED (
    SELECT DISTINCT l.pid, l.classid::bigint << 32 | l.objid::bigint AS key FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted),
  -- A release unlocks one key after the other: a set is shown as a whole, or not at all.
  gone AS MATERIALIZED (
    SELECT DISTINCT o.stamp FROM "@space@".session_holds o
     WHERE NOT EXISTS (SELECT FROM held WHERE held.pid = o.pid AND held.key = o.key))
  -- A client that had to connect again has another number: until somebody removes what it has
  -- published before, each of its holds is there twice.
  SELECT DISTINCT ON (h.stamp, h.name)
         'h'::"char", h.stamp, h.app, h.instance, h.epoch, h.label, h.since, h.ends - _now,
         h.name, h.mode
    FROM "@space@".session_holds h
   WHERE h.ends > _now AND h.stamp NOT IN (SELECT gone.stamp FROM gone)
     AND (_match = 'a' OR h.stamp IN (
            SELECT m.stamp FROM "@space@".session_holds m
             WHERE _match = 'n' AND m.name = _text
                OR _match = 'p' AND starts_with(m.name, _text)))
  ORDER BY h.stamp, h.name, h.ends DESC;
END $$;
