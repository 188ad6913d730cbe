#include "backends/postgresql/sql.h"

namespace lockset::postgresql::sql {

// These run under READ COMMITTED with both strategies.
//
// A statement that changes a row looks at its condition again once it has the row's lock,
// so an expiry is judged there: by clock_timestamp(), which goes on while it waits.
const std::string_view release = R"(
-- @release_says@
-- 'R': this call ended the hold. 'N': there was none. One that had expired is removed, too, but
-- this call did not end it.
CREATE OR REPLACE FUNCTION "@space@".@release@ RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _name text;
  _size integer;
  _alone boolean;
  _live boolean;
  _names text[];
BEGIN
  @free@
  DELETE FROM "@space@".locks h
   WHERE h.stamp = _stamp AND h.expires IS NOT NULL@whose@
  RETURNING h.name, h.size, h.expires > clock_timestamp() INTO _name, _size, _live;
  IF NOT FOUND THEN
    @sure@
    RETURN 'N';
  END IF;
  -- Statements of their own, so that they see who registered while the one above waited.
  IF _size > 1 THEN
    WITH rest AS (DELETE FROM "@space@".locks l WHERE l.stamp = _stamp RETURNING l.name)
    SELECT array_agg(r.name) INTO _names FROM rest r;
  END IF;
  -- Has anybody registered lately? To look for them costs a fifth of a release.
  IF pg_sequence_last_value('"@space@".last_wait'::regclass)
     > (date_part('epoch', clock_timestamp()) * 1000000)::bigint - @life_us@ THEN
    _names := _name || _names;
    IF EXISTS (SELECT FROM "@space@".waiter_names w WHERE w.name = ANY(_names)) THEN
      PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
    END IF;
  END IF;
  RETURN CASE WHEN _live THEN 'R' ELSE 'N' END;
END $$;
)";

const std::string_view holds = R"(
-- All holds of a call. REQUIRES: each stamp once, ascending, so that two calls lock in the
-- same order. A lease below 0 means for ever. It never shortens.
CREATE OR REPLACE FUNCTION "@space@".renew_v@version@(
  _app text, _stamps bigint[], _leases bigint[], OUT _stamp bigint, OUT _left bigint,
  OUT _clock bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
BEGIN
  _clock := (date_part('epoch', _now) * 1000000)::bigint;
  RETURN NEXT;  -- the first row: the clock
  RETURN QUERY
  UPDATE "@space@".locks h
     SET expires = greatest(h.expires, CASE WHEN r.lease < 0 THEN 'infinity'
                                       ELSE _now + r.lease * interval '1 microsecond' END)
    FROM unnest(_stamps, _leases) r(stamp, lease)
   WHERE h.stamp = r.stamp AND h.app = _app AND h.expires > clock_timestamp()
  RETURNING h.stamp, CASE WHEN isfinite(h.expires)
                     THEN (date_part('epoch', h.expires - _now) * 1000000)::bigint ELSE -1 END,
            NULL::bigint;
END $$;

-- The live hold of the attempt with this token. Looked for among the holds on `_name`; ''
-- if that is not known: then all holds are read.
CREATE OR REPLACE FUNCTION "@space@".resolve_v@version@(_token uuid, _name text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _head record;
BEGIN
  IF _name <> '' THEN
    SELECT h.stamp, h.expires INTO _head FROM "@space@".locks h
     WHERE h.stamp IN (SELECT l.stamp FROM "@space@".locks l WHERE l.name = _name)
       AND h.token = _token AND h.expires > _now;
  ELSE
    SELECT h.stamp, h.expires INTO _head FROM "@space@".locks h
     WHERE h.token = _token AND h.expires > _now;
  END IF;
  IF NOT FOUND THEN
    RETURN 'N';
  END IF;
  @sure@
  RETURN concat_ws(chr(31), 'G', _head.stamp,
    CASE WHEN isfinite(_head.expires)
         THEN (date_part('epoch', _head.expires - _now) * 1000000)::bigint ELSE -1 END,
    (date_part('epoch', _now) * 1000000)::bigint,
    (SELECT string_agg((SELECT min(o.stamp) FROM "@space@".locks o
                          JOIN "@space@".locks h ON h.stamp = o.stamp AND h.expires > _now
                         WHERE o.name = m.name)::text, chr(31) ORDER BY m.name)
       FROM "@space@".locks m WHERE m.stamp = _head.stamp));
END $$;

-- One row for each name of each hold and waiter that matches: 'a'll, by 'n'ame, by
-- 'p'refix. STABLE: all its statements see one state.
CREATE OR REPLACE FUNCTION "@space@".inspect_v@version@(
  _match "char", _text text, OUT _kind "char", OUT _id bigint, OUT _app text,
  OUT _instance text, OUT _epoch bigint, OUT _label text, OUT _since bigint, OUT _left bigint,
  OUT _name text, OUT _mode "char") RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  -- Behind every name with this prefix: names have 255 bytes at most.
  _end text := CASE _match WHEN 'p' THEN _text || repeat(chr(1114111), 64) ELSE _text END;
  _stamps bigint[];
  _ids bigint[];
BEGIN
  IF _match <> 'a' THEN
    _stamps := ARRAY(SELECT DISTINCT l.stamp FROM "@space@".locks l
                      WHERE l.name BETWEEN _text AND _end);
    _ids := ARRAY(SELECT DISTINCT n.id FROM "@space@".waiter_names n
                   WHERE n.name BETWEEN _text AND _end);
  END IF;
  RETURN QUERY
  SELECT 'h'::"char", h.stamp, h.app, h.instance, h.epoch, h.label,
         (date_part('epoch', h.created) * 1000000)::bigint,
         CASE WHEN isfinite(h.expires)
              THEN (date_part('epoch', h.expires - _now) * 1000000)::bigint END,
         l.name, l.mode
    FROM "@space@".locks h JOIN "@space@".locks l ON l.stamp = h.stamp
   WHERE h.expires > _now AND (_match = 'a' OR h.stamp = ANY(_stamps))
  UNION ALL
  SELECT 'w', w.id, w.app, w.instance, w.epoch, w.label,
         (date_part('epoch', w.since) * 1000000)::bigint, NULL, n.name, n.mode
    FROM "@space@".waiters w, unnest(w.names, w.modes) n(name, mode)
   WHERE w.expires > _now AND (_match = 'a' OR w.id = ANY(_ids))
  ORDER BY 1, 2, 9;
END $$;

-- Looks at so many rows behind `_from`, removes some expired holds. The next `_from`; 0 at
-- the end. Rows that somebody has locked are left for another time.
CREATE OR REPLACE FUNCTION "@space@".sweep_v@version@(
  _from bigint, _from_name text, OUT _removed integer, OUT _next bigint, OUT _next_name text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _one bigint;
  _looked integer := 0;
  _expired bigint[];
  _names text[];
  _name text;
  _unused text[];
  -- Names that nobody was granted for an hour.
  _old bigint := (date_part('epoch', _now - interval '1 hour') * 1000000)::bigint;
BEGIN
  _removed := 0;
  SELECT array_agg(s.stamp ORDER BY s.stamp) FILTER (WHERE s.expires <= _now), count(*),
         max(s.stamp)
    INTO _expired, _looked, _next
    FROM (SELECT l.stamp, l.expires FROM "@space@".locks l WHERE l.stamp > _from
           ORDER BY l.stamp LIMIT 20000) s;
  IF _looked < 20000 THEN
    _next := 0;
  END IF;
  IF cardinality(_expired) > 500 THEN
    _expired := _expired[1:500];
    _next := _expired[500];
  END IF;
  -- One by one: what is removed is woken for.
  FOR _one IN SELECT h.stamp FROM "@space@".locks h
               WHERE h.stamp = ANY(_expired) AND h.expires <= _now
               ORDER BY h.stamp FOR UPDATE SKIP LOCKED
  LOOP
    WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = _one RETURNING l.name)
    SELECT array_agg(g.name) INTO _names FROM gone g;
    PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
    _removed := _removed + 1;
  END LOOP;
  PERFORM "@space@".sweep_line_v@version@();
  _next_name := '';
  @sweep_names@
END $$;
)";

const std::string_view waiters = R"(
-- Wakes the next in line for a name: the first behind the waiter `_after`, of one mode if
-- one is given. Passes over those who were woken a while ago and did not come: they are
-- stopped or dead. Whoever is just being dealt with by another transaction is told, and so
-- is the next: that one may be on its way to be granted, and then this would be lost.
-- Locks nothing that it would have to wait for.
CREATE OR REPLACE FUNCTION "@space@".wake_v@version@(_name text, _after bigint, _mode "char")
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _next record;
BEGIN
  FOR _next IN
    SELECT w.id, w.channel, w.ticket, w.woken
      FROM "@space@".waiter_names n JOIN "@space@".waiters w ON w.id = n.id
     WHERE n.name = _name AND n.id > _after AND (_mode IS NULL OR n.mode = _mode)
       AND w.expires > _now AND (w.woken IS NULL OR w.woken > _now - interval '@comes_within@')
     ORDER BY n.id
  LOOP
    PERFORM pg_notify(_next.channel, _next.ticket);
    PERFORM FROM "@space@".waiters w WHERE w.id = _next.id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      IF _next.woken IS NULL THEN
        UPDATE "@space@".waiters w SET woken = _now WHERE w.id = _next.id;
      END IF;
      EXIT;
    END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION "@space@".wake_all_v@version@() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_notify(channel, ticket) FROM "@space@".waiters
$$;

-- A waiter (0: none) was granted its set. Wakes those whom the grant leaves room for, and
-- those who wait for other names that were freed on the way. `_reads` and `_writes` are the
-- holds that were there; NULL means none.
CREATE OR REPLACE FUNCTION "@space@".leave_line_v@version@(
  _waiter bigint, _names text[], _modes "char"[], _permits integer[], _reads integer[],
  _writes integer[], _freed text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _mine integer;
BEGIN
  IF _waiter <> 0 THEN
    DELETE FROM "@space@".waiters w WHERE w.id = _waiter;
    DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_names) AND n.id = _waiter;
  END IF;
  IF _freed <> '{}' THEN
    PERFORM "@space@".wake_v@version@(f.name, 0::bigint, NULL::"char")
       FROM (SELECT DISTINCT unnest(_freed)) f(name) WHERE f.name <> ALL(_names);
  END IF;
  FOR i IN 1 .. cardinality(_names) LOOP
    _mine := CASE _modes[i] WHEN 'r' THEN _reads[i] ELSE _writes[i] END;
    IF coalesce(_mine, 0) + 1 < _permits[i] THEN
      PERFORM "@space@".wake_v@version@(_names[i], 0::bigint, _modes[i]);
    END IF;
  END LOOP;
END $$;

-- The waiter gave up. A wake-up that it was given goes to the next.
CREATE OR REPLACE FUNCTION "@space@".end_wait_v@version@(_waiter bigint, _woken boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _me record;
BEGIN
  DELETE FROM "@space@".waiters w WHERE w.id = _waiter RETURNING w.names, w.woken INTO _me;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_me.names) AND n.id = _waiter;
  IF _woken OR _me.woken IS NOT NULL THEN
    PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_me.names) n;
  END IF;
END $$;

-- Removes waiters who have not been heard of.
CREATE OR REPLACE FUNCTION "@space@".sweep_line_v@version@() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _one record;
BEGIN
  FOR _one IN SELECT w.id, w.names, w.woken FROM "@space@".waiters w
               WHERE w.expires <= clock_timestamp() ORDER BY w.id LIMIT 500
               FOR UPDATE SKIP LOCKED
  LOOP
    DELETE FROM "@space@".waiters w WHERE w.id = _one.id;
    DELETE FROM "@space@".waiter_names n WHERE n.name = ANY(_one.names) AND n.id = _one.id;
    IF _one.woken IS NOT NULL THEN
      PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_one.names) n;
    END IF;
  END LOOP;
END $$;
)";

// The version of the configuration is a sequence, changed and compared under the space's
// lock: an acquire holds it shared until its end, a change has it alone. So when a change
// returns, no step is under way that was decided from what was before.
const std::string_view config = R"(
CREATE OR REPLACE FUNCTION "@space@".config_rows_v@version@(
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'v'::"char", NULL::text, NULL::"char",
         pg_sequence_last_value('"@space@".config_version'::regclass)
  UNION ALL SELECT 'l', NULL, NULL, max_lease FROM "@space@".meta
  UNION ALL SELECT 'm', NULL, NULL, migration_phase FROM "@space@".meta
  UNION ALL SELECT 'b', NULL, NULL, stamp_base FROM "@space@".meta
  UNION ALL SELECT 'p', name, mode, permits FROM "@space@".lock_permits
  UNION ALL SELECT 'e', app, NULL, epoch FROM "@space@".epochs
$$;

CREATE OR REPLACE FUNCTION "@space@".load_config_v@version@(
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(@class@, 0);
  RETURN QUERY SELECT * FROM "@space@".config_rows_v@version@();
END $$;

-- REQUIRES: the space's lock is held alone. Never a version that was used before, not even
-- by a database that was put back from a backup.
CREATE OR REPLACE FUNCTION "@space@".next_version_v@version@() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT setval('"@space@".config_version'::regclass,
                greatest(last_value + 1,
                         (date_part('epoch', clock_timestamp()) * 1000000)::bigint))
    FROM "@space@".config_version
$$;

-- 'p': permits of a name and mode (NULL: back to the default); 'l': longest lease in
-- microseconds; 'm': migration phase; 'b': stamp base.
CREATE OR REPLACE FUNCTION "@space@".change_config_v@version@(
  _what "char", _of text, _of_mode "char", _to bigint,
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(@class@, 0);
  PERFORM "@space@".next_version_v@version@();
  IF _what = 'p' THEN
    DELETE FROM "@space@".lock_permits p WHERE p.name = _of AND p.mode = _of_mode;
    IF _to IS NOT NULL THEN
      INSERT INTO "@space@".lock_permits VALUES (_of, _of_mode, _to);
    END IF;
  ELSIF _what = 'l' THEN
    UPDATE "@space@".meta SET max_lease = _to;
  ELSIF _what = 'm' THEN
    UPDATE "@space@".meta SET migration_phase = _to;
  ELSIF _what = 'b' THEN
    UPDATE "@space@".meta SET stamp_base = greatest(stamp_base, _to);
    -- Nobody draws a stamp beside this.
    PERFORM "@space@".raise_stamp_v@version@(_to + 1);
  END IF;
  -- The change makes the waiters' requests stale; new permits may admit them.
  PERFORM "@space@".wake_all_v@version@();
  RETURN QUERY SELECT * FROM "@space@".config_rows_v@version@();
END $$;

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

-- A number: the holds ended. 'H': a higher epoch has begun. 'N': the hold is not live.
CREATE OR REPLACE FUNCTION "@space@".reclaim_v@version@(_app text, _epoch bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans_of_all@ AS $$
DECLARE
  _present bigint;
  _head record;
  _ended integer := 0;
  _old bigint[] := '{}';
  _names text[];
BEGIN
  PERFORM pg_advisory_xact_lock(@class@, 0);
  SELECT e.epoch INTO _present FROM "@space@".epochs e WHERE e.app = _app;
  IF _present > _epoch THEN
    RETURN 'H' || _present;
  END IF;
  PERFORM FROM "@space@".locks h
    WHERE h.stamp = _epoch AND h.app = _app AND h.expires > clock_timestamp() FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'N';
  END IF;
  -- Asked for again (the first answer may have been lost), it ends what came since.
  IF _present IS DISTINCT FROM _epoch THEN
    INSERT INTO "@space@".epochs VALUES (_app, _epoch)
    ON CONFLICT (app) DO UPDATE SET epoch = excluded.epoch;
    PERFORM "@space@".next_version_v@version@();
  END IF;
  FOR _head IN SELECT h.stamp, h.expires > clock_timestamp() AS live FROM "@space@".locks h
                WHERE h.app = _app AND h.epoch < _epoch AND h.stamp <> _epoch
                  AND h.expires IS NOT NULL
                ORDER BY h.stamp FOR UPDATE
  LOOP
    _old := _old || _head.stamp;
    _ended := _ended + _head.live::integer;
  END LOOP;
  WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = ANY(_old) RETURNING l.name)
  SELECT array_agg(DISTINCT g.name) INTO _names FROM gone g;
  PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
  PERFORM "@space@".wake_all_v@version@();
  @sure@
  RETURN _ended::text;
END $$;
)";

}  // namespace lockset::postgresql::sql
