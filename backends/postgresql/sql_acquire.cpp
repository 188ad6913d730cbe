#include "backends/postgresql/sql.h"

namespace lockset::postgresql::sql {

// Under READ COMMITTED each statement of a VOLATILE function sees what was committed
// before that statement began. So a look that comes after the locks were taken, in a
// statement of its own, sees all holds on these names. (In one statement with the locks,
// or under REPEATABLE READ, it would look at a state from before them: measured to grant
// twice. tests/postgresql/traps_test.cpp keeps showing it.)
//
// A free set is granted by one statement; all else is settle's.
const std::string_view acquire_advisory = R"(
CREATE OR REPLACE FUNCTION "@space@".acquire_v@version@(
  _names text[], _modes "char"[], _permits integer[], _version bigint, _lease bigint,
  _least bigint, _token uuid, _app text, _instance text, _epoch bigint, _label text,
  _waiter bigint, _woken boolean, _channel text, _ticket text) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _stamp bigint;
  _now timestamptz;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'strategy=advisory needs transactions '
      'that are READ COMMITTED, not ' || upper(current_setting('transaction_isolation'));
  END IF;
  IF cardinality(_names) > @most_names@ THEN
    -- Instead of a lock for each name, for which the server may have no room.
    IF pg_advisory_xact_lock(@class@, 0) IS NULL THEN END IF;
  ELSE
    -- The configuration stays as it is until the end of this step.
    IF pg_advisory_xact_lock_shared(@class@, 0) IS NULL THEN END IF;
    IF cardinality(_names) = 1 THEN
      IF pg_advisory_xact_lock(@names@, hashtext(_names[1])) IS NULL THEN END IF;
    ELSE
      -- In the order of the keys, not of the names: two names may share a key.
      PERFORM pg_advisory_xact_lock(@names@, k.key)
         FROM (SELECT DISTINCT hashtext(n) AS key FROM unnest(_names) n ORDER BY 1) k;
    END IF;
  END IF;
  -- NULL in a space whose rows are still being put back from a backup.
  IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
    RETURN 'S';
  END IF;
  _now := clock_timestamp();
  IF coalesce(pg_sequence_last_value('"@space@".stamps'::regclass), 0)
     < greatest(_least - 1, (date_part('epoch', _now) * 1000000)::bigint - @slack@) THEN
    PERFORM "@space@".raise_stamp_v@version@(_least);
  END IF;
  -- The stamp is drawn when the set was seen to be free, not before: a release takes no name's
  -- lock, and a stamp older than the release that made room would be older than those of
  -- grants that had returned before it.
  IF cardinality(_names) = 1 THEN
    -- The columns as they are in the table, and of their types: the plan has a step less.
    INSERT INTO "@space@".locks (stamp, expires, created, epoch, token, size, mode, alone, name,
                                 app, instance, label)
    SELECT nextval('"@space@".stamps'::regclass), _now + _lease * interval '1 microsecond', _now,
           _epoch, _token, 1::smallint, _modes[1], false, _names[1] COLLATE "C",
           _app COLLATE "C", _instance, _label
     WHERE NOT EXISTS (SELECT FROM "@space@".locks l WHERE l.name = _names[1]);
  ELSE
    INSERT INTO "@space@".locks (stamp, expires, created, epoch, token, size, mode, name, app,
                                 instance, label)
    WITH drawn AS MATERIALIZED (
      SELECT nextval('"@space@".stamps'::regclass) AS stamp
       WHERE NOT EXISTS (SELECT FROM "@space@".locks l WHERE l.name = ANY(_names)))
    SELECT d.stamp, CASE WHEN n.item = 1 THEN _now + _lease * interval '1 microsecond' END,
           CASE WHEN n.item = 1 THEN _now END, CASE WHEN n.item = 1 THEN _epoch END,
           CASE WHEN n.item = 1 THEN _token END,
           CASE WHEN n.item = 1 THEN cardinality(_names) END, n.mode, n.name,
           CASE WHEN n.item = 1 THEN _app END, CASE WHEN n.item = 1 THEN _instance END,
           CASE WHEN n.item = 1 THEN _label END
      FROM drawn d, unnest(_names, _modes) WITH ORDINALITY n(name, mode, item);
  END IF;
  IF NOT FOUND THEN
    RETURN "@space@".settle_v@version@(_names, _modes, _permits, _lease, _token, _app, _instance,
                                       _epoch, _label, _waiter, _woken, _channel, _ticket,
                                       NULL::bigint);
  END IF;
  _stamp := currval('"@space@".stamps'::regclass);
  IF _waiter <> 0 THEN
    PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, NULL::integer[],
                                            NULL::integer[], '{}'::text[]);
  END IF;
  RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint);
END $$;
)";

// Under SERIALIZABLE all statements see the state of the transaction's beginning, whatever
// is locked later. What makes it safe is that a grant changes the permanent row of each
// name: a transaction whose state is older than another grant on the name fails there
// (40001), also where the server's predicate locks should have a hole. And as a name
// whose row says that it is free needs no further look, transactions on other names read
// nothing that this one writes, so they don't fail for nothing.
//
// What must be as it is now, and not as it was, is read from a sequence: the version of
// the configuration.
const std::string_view acquire_serializable = R"(
CREATE OR REPLACE FUNCTION "@space@".acquire_v@version@(
  _names text[], _modes "char"[], _permits integer[], _version bigint, _lease bigint,
  _least bigint, _token uuid, _app text, _instance text, _epoch bigint, _label text,
  _waiter bigint, _woken boolean, _channel text, _ticket text) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _stamp bigint;
  _now timestamptz;
  _free boolean := true;
  _name text;
BEGIN
  IF current_setting('transaction_isolation') <> 'serializable' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'strategy=serializable needs '
      'transactions that are SERIALIZABLE, not '
      || upper(current_setting('transaction_isolation'));
  END IF;
  IF pg_advisory_xact_lock_shared(@class@, 0) IS NULL THEN END IF;
  -- NULL in a space whose rows are still being put back from a backup.
  IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
    RETURN 'S';
  END IF;
  -- Drawn after this transaction's state was fixed. A conflicting grant that is not part
  -- of that state makes this one fail below, so this stamp is above all that count.
  _stamp := nextval('"@space@".stamps'::regclass);
  _now := clock_timestamp();
  IF _stamp < _least OR _stamp < (date_part('epoch', _now) * 1000000)::bigint - @slack@ THEN
    _stamp := "@space@".raise_stamp_v@version@(_least);
  END IF;
  FOREACH _name IN ARRAY _names LOOP
    UPDATE "@space@".names n SET last = _stamp WHERE n.name = _name AND n.last <= 0;
    IF NOT FOUND THEN
      PERFORM FROM "@space@".names n WHERE n.name = _name FOR UPDATE;
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LS003', MESSAGE = 'a name without its row';
      END IF;
      _free := false;
    END IF;
  END LOOP;
  IF NOT _free THEN
    RETURN "@space@".settle_v@version@(_names, _modes, _permits, _lease, _token, _app, _instance,
                                       _epoch, _label, _waiter, _woken, _channel, _ticket,
                                       _stamp);
  END IF;
  _now := clock_timestamp();
  IF cardinality(_names) = 1 THEN
    INSERT INTO "@space@".locks (stamp, expires, created, epoch, token, size, mode, alone, name,
                                 app, instance, label)
    VALUES (_stamp, _now + _lease * interval '1 microsecond', _now, _epoch, _token, 1, _modes[1],
            true, _names[1], _app, _instance, _label);
  ELSE
    PERFORM "@space@".record_v@version@(_stamp, _names, _modes, _lease, _now, _token, _app,
                                        _instance, _epoch, _label, true);
  END IF;
  IF _waiter <> 0 THEN
    PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, NULL::integer[],
                                            NULL::integer[], '{}'::text[]);
  END IF;
  RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint);
END $$;

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
)";

const std::string_view settle = R"(
CREATE OR REPLACE FUNCTION "@space@".record_v@version@(
  _stamp bigint, _names text[], _modes "char"[], _lease bigint, _now timestamptz, _token uuid,
  _app text, _instance text, _epoch bigint, _label text, _alone boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO "@space@".locks (stamp, expires, created, epoch, token, size, mode, alone, name,
                               app, instance, label)
  VALUES (_stamp, _now + _lease * interval '1 microsecond', _now, _epoch, _token,
          cardinality(_names), _modes[1], _alone, _names[1], _app, _instance, _label);
  IF cardinality(_names) > 1 THEN
    INSERT INTO "@space@".locks (stamp, mode, alone, name)
    SELECT _stamp, n.mode, _alone, n.name FROM unnest(_names[2:], _modes[2:]) n(name, mode);
  END IF;
END $$;

-- The set is not simply free. A stamp that is NULL is drawn when the set is granted. REQUIRES:
-- its names are locked, the version is right.
CREATE OR REPLACE FUNCTION "@space@".settle_v@version@(
  _names text[], _modes "char"[], _permits integer[], _lease bigint, _token uuid, _app text,
  _instance text, _epoch bigint, _label text, _waiter bigint, _woken boolean, _channel text,
  _ticket text, _stamp bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz;
  _one bigint;
  _there bigint[];
  _expired bigint[];
  _freed text[] := '{}';
  _twin record;
  _reads integer[];
  _writes integer[];
  _floors bigint[];
  _own boolean[];    -- per item: its own mode is used up
  _other boolean[];  -- per item: a hold of the other mode is there
  _busy boolean;
  _at integer;
  _need integer;
  _have integer;
  _in_the_way record;
  _me record;
BEGIN
  LOOP
    -- 1. Holds that have expired end here, under their row's lock. A renewal under way is
    -- waited for, and counts. Heads in the order of stamps, as everywhere.
    _now := clock_timestamp();
    _there := ARRAY(SELECT DISTINCT l.stamp FROM "@space@".locks l WHERE l.name = ANY(_names));
    _expired := '{}';
    FOR _one IN SELECT h.stamp FROM "@space@".locks h
                 WHERE h.stamp = ANY(_there) AND h.expires <= _now ORDER BY h.stamp FOR UPDATE
    LOOP
      _expired := _expired || _one;
    END LOOP;
    IF _expired <> '{}' THEN
      WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = ANY(_expired) RETURNING l.name)
      SELECT _freed || coalesce(array_agg(g.name), '{}') INTO _freed FROM gone g;
    END IF;

    -- 2. All that is left counts as live.
    SELECT array_agg(c.reads ORDER BY n.item), array_agg(c.writes ORDER BY n.item),
           array_agg(c.floor ORDER BY n.item)
      INTO _reads, _writes, _floors
      FROM unnest(_names) WITH ORDINALITY n(name, item),
           LATERAL (SELECT count(*) FILTER (WHERE l.mode = 'r') AS reads,
                           count(*) FILTER (WHERE l.mode = 'w') AS writes, min(l.stamp) AS floor
                      FROM "@space@".locks l WHERE l.name = n.name) c;

    -- 3. The same request, delivered twice.
    SELECT h.stamp, h.expires INTO _twin FROM "@space@".locks h
     WHERE h.stamp IN (SELECT l.stamp FROM "@space@".locks l WHERE l.name = _names[1])
       AND h.token = _token;
    IF FOUND THEN
      @sure@
      @unmark@
      PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, _reads, _writes,
                                              _freed);
      RETURN concat_ws(chr(31), 'G', _twin.stamp,
        CASE WHEN isfinite(_twin.expires)
             THEN (date_part('epoch', _twin.expires - _now) * 1000000)::bigint ELSE -1 END,
        (date_part('epoch', _now) * 1000000)::bigint, array_to_string(_floors, chr(31)));
    END IF;

    -- 4. The rule of admission.
    _busy := false;
    FOR i IN 1 .. cardinality(_names) LOOP
      _own[i] := CASE _modes[i] WHEN 'r' THEN _reads[i] ELSE _writes[i] END >= _permits[i];
      _other[i] := CASE _modes[i] WHEN 'r' THEN _writes[i] ELSE _reads[i] END > 0;
      _busy := _busy OR _own[i] OR _other[i];
    END LOOP;
    IF NOT _busy THEN
      _now := clock_timestamp();
      _stamp := coalesce(_stamp, nextval('"@space@".stamps'::regclass));
      @mark@
      PERFORM "@space@".record_v@version@(_stamp, _names, _modes, _lease, _now, _token, _app,
        _instance, _epoch, _label, NOT (0 < ANY(_reads) OR 0 < ANY(_writes)));
      IF _waiter <> 0 OR _freed <> '{}' THEN
        PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, _reads,
                                                _writes, _freed);
      END IF;
      RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint,
        (SELECT string_agg(coalesce(f, _stamp)::text, chr(31) ORDER BY item)
           FROM unnest(_floors) WITH ORDINALITY u(f, item)));
    END IF;

    -- 5. Busy. Somebody in the way, for people, and when the first of them ends.
    SELECT (array_agg(l.name ORDER BY n.item, l.stamp))[1] AS name,
           (array_agg(l.mode ORDER BY n.item, l.stamp))[1] AS mode,
           (array_agg(l.stamp ORDER BY n.item, l.stamp))[1] AS stamp,
           (array_agg(h.label ORDER BY n.item, l.stamp))[1] AS label,
           min(h.expires) AS first_end
      INTO _in_the_way
      FROM unnest(_names, _modes, _own, _other) WITH ORDINALITY n(name, mode, own, other, item)
      JOIN "@space@".locks l ON l.name = n.name
       AND ((n.own AND l.mode = n.mode) OR (n.other AND l.mode <> n.mode))
      LEFT JOIN "@space@".locks h ON h.stamp = l.stamp AND h.expires IS NOT NULL;
    CONTINUE WHEN _in_the_way.stamp IS NULL;  -- gone since: look again
    @unmark@
    EXIT WHEN _channel = '';

    -- 6. It will wait. Registered already, it keeps its place.
    SELECT w.expires, w.woken INTO _me FROM "@space@".waiters w WHERE w.id = _waiter;
    IF FOUND THEN
      IF _woken OR _me.woken IS NOT NULL OR _me.expires < _now + interval '@half_life@' THEN
        PERFORM setval('"@space@".last_wait'::regclass,
                       (date_part('epoch', clock_timestamp()) * 1000000)::bigint);
        UPDATE "@space@".waiters w SET woken = NULL, expires = _now + interval '@life@'
         WHERE w.id = _waiter;
      END IF;
      IF _woken OR _me.woken IS NOT NULL THEN
        -- What it was woken for may do for one behind it. A name that its own mode uses up
        -- admits nobody else, and the end of that hold wakes the line again from its head.
        FOR i IN 1 .. cardinality(_names) LOOP
          IF NOT (_own[i] OR _other[i]) THEN
            PERFORM "@space@".wake_v@version@(_names[i], _waiter, NULL::"char");
          ELSIF NOT _own[i] THEN
            PERFORM "@space@".wake_v@version@(_names[i], _waiter,
              (CASE _modes[i] WHEN 'r' THEN 'w' ELSE 'r' END)::"char");
          END IF;
        END LOOP;
      END IF;
      EXIT;
    END IF;
    -- Not yet. So many of those in the way are kept from ending until the registration is
    -- committed that the set stays blocked until then: whoever ends one of them waits for
    -- that commit, and finds the waiter. Locking a row for its key hinders no renewal.
    _at := coalesce(array_position(_other, true), array_position(_own, true));
    _need := CASE WHEN _other[_at] THEN 1 ELSE _permits[_at] END;
    _have := 0;
    FOR _one IN SELECT l.stamp FROM "@space@".locks l
                 WHERE l.name = _names[_at] AND (l.mode = _modes[_at]) <> _other[_at]
                 ORDER BY l.stamp LIMIT _need FOR KEY SHARE
    LOOP
      _have := _have + 1;
    END LOOP;
    CONTINUE WHEN _have < _need;
    _waiter := nextval('"@space@".stamps'::regclass);
    -- Before this is committed, so a release that waits for that sees it.
    PERFORM setval('"@space@".last_wait'::regclass,
                   (date_part('epoch', clock_timestamp()) * 1000000)::bigint);
    INSERT INTO "@space@".waiters VALUES (_waiter, _now, _now + interval '@life@', NULL, _epoch,
      _channel, _ticket, _app, _instance, _label, _names, _modes);
    INSERT INTO "@space@".waiter_names
    SELECT n.name, _waiter, n.mode FROM unnest(_names, _modes) n(name, mode);
    EXIT;
  END LOOP;
  IF _freed <> '{}' THEN
    PERFORM "@space@".wake_v@version@(f.name, 0::bigint, NULL::"char")
       FROM (SELECT DISTINCT unnest(_freed)) f(name);
  END IF;
  RETURN concat_ws(chr(31), 'B', _waiter,
    CASE WHEN isfinite(_in_the_way.first_end)
         THEN greatest(0, (date_part('epoch', _in_the_way.first_end - _now) * 1000000)::bigint)
         ELSE -1 END,
    _in_the_way.mode, _in_the_way.stamp, _in_the_way.name, _in_the_way.label);
END $$;
)";

}  // namespace lockset::postgresql::sql
