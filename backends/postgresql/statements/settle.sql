-- # What both strategies do for a set that is not simply free: tidy up, count, and grant;
-- # or say what is in the way and register the waiter.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @sure@: what makes the commit wait for a synchronous standby
-- #   @mark@: mark_names.sql with strategy=serializable, else a comment
-- #   @unmark@: unmark_names.sql with strategy=serializable, else a comment
-- #   @life@: how long a waiter counts that does not refresh its row
-- #   @life_us@: a little more than that, in microseconds
-- #   @fresh@: a row that counts for longer still need not be refreshed, and nobody need see
-- #     whether its waiter lives
-- #   @comes_within@: how soon a woken waiter comes

-- The set is not simply free. A stamp that is NULL is drawn when the set is granted. REQUIRES:
-- its names are locked, the version is right.
--
-- A grant counts as overtaking each waiter before it that waits for a part of the set. The rows
-- of these waiters are locked for that in the order of their numbers, so two grants that overtake
-- the same ones don't wait for each other in a circle. Others that lock several of them wait for
-- none.
--
-- `_replaced` is the hold whose place this grant takes; 0: none. It is judged under its row's lock,
-- and does not count. If it is not live or not of `_app`, the answer is 'N'.
CREATE OR REPLACE FUNCTION "@space@".settle_v@version@(
  _names text[], _modes "char"[], _permits integer[], _lease bigint, _token uuid, _app text,
  _instance text, _epoch bigint, _label text, _waiter bigint, _woken boolean, _channel text,
  _ticket text, _stamp bigint, _most bigint, _replaced bigint DEFAULT 0) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz;
  _one bigint;
  _head record;
  _old_end timestamptz;  -- of the hold to replace; NULL: it can't be replaced
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
  -- The waiters before this request that still count.
  _before bigint := CASE _waiter WHEN 0 THEN 9223372036854775807 ELSE _waiter END;
  _ahead bigint[];
  _keepers bigint[];  -- those for whom names are kept
  _kept_reads integer[];
  _kept_writes integer[];
  _kept_at integer;   -- the first item that is kept for one of them
  _keeper record;
  _at integer;
  _need integer;
  _have integer;
  _in_the_way record;
  _me record;
BEGIN
  LOOP
    -- 1. Holds that have expired end here, under their row's lock. A renewal under way is
    -- waited for, and counts. Heads in the order of stamps, as everywhere; so the one to replace
    -- is locked among them.
    _now := clock_timestamp();
    _there := ARRAY(SELECT DISTINCT l.stamp FROM "@space@".locks l WHERE l.name = ANY(_names));
    _expired := '{}';
    _old_end := NULL;
    FOR _head IN SELECT h.stamp, h.expires, h.app FROM "@space@".locks h
                  WHERE h.stamp = ANY(_there)
                    AND (h.expires <= _now OR (h.stamp = _replaced AND h.expires IS NOT NULL))
                  ORDER BY h.stamp FOR UPDATE
    LOOP
      IF _head.expires <= clock_timestamp() THEN
        _expired := _expired || _head.stamp;
      ELSIF _head.app = _app THEN
        _old_end := _head.expires;
      END IF;
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
                      FROM "@space@".locks l
                     WHERE l.name = n.name AND l.stamp <> _replaced) c;

    -- 3. The same request was delivered twice.
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
    IF _replaced <> 0 AND _old_end IS NULL THEN
      @sure@
      PERFORM "@space@".wake_v@version@(f.name, 0::bigint, NULL::"char")
         FROM (SELECT DISTINCT unnest(_freed)) f(name);
      RETURN 'N';
    END IF;

    -- 4. The rule of admission.
    _busy := false;
    FOR i IN 1 .. cardinality(_names) LOOP
      _own[i] := CASE _modes[i] WHEN 'r' THEN _reads[i] ELSE _writes[i] END >= _permits[i];
      _other[i] := CASE _modes[i] WHEN 'r' THEN _writes[i] ELSE _reads[i] END > 0;
      _busy := _busy OR _own[i] OR _other[i];
    END LOOP;

    -- 5. A waiter that was overtaken `_most` times counts as a hold towards all who came later.
    _ahead := NULL;
    _keepers := NULL;
    _kept_at := NULL;
    IF NOT _busy AND _most IS NOT NULL
       AND pg_sequence_last_value('"@space@".last_wait'::regclass)
           > (date_part('epoch', _now) * 1000000)::bigint - @life_us@ THEN
      SELECT array_agg(w.id), array_agg(w.id) FILTER (WHERE w.overtaken >= _most)
        INTO _ahead, _keepers
        FROM "@space@".waiters w
       WHERE w.id IN (SELECT n.id FROM "@space@".waiter_names n
                       WHERE n.name = ANY(_names) AND n.id < _before)
         AND w.expires > _now AND (w.woken IS NULL OR w.woken > _now - interval '@comes_within@');
    END IF;
    IF _keepers IS NOT NULL THEN
      SELECT array_agg(c.reads ORDER BY n.item), array_agg(c.writes ORDER BY n.item)
        INTO _kept_reads, _kept_writes
        FROM unnest(_names) WITH ORDINALITY n(name, item),
             LATERAL (SELECT count(*) FILTER (WHERE w.mode = 'r') AS reads,
                             count(*) FILTER (WHERE w.mode = 'w') AS writes
                        FROM "@space@".waiter_names w
                       WHERE w.name = n.name AND w.id = ANY(_keepers)) c;
      FOR i IN 1 .. cardinality(_names) LOOP
        _own[i] := CASE _modes[i] WHEN 'r' THEN _reads[i] + _kept_reads[i]
                                           ELSE _writes[i] + _kept_writes[i] END >= _permits[i];
        _other[i] := CASE _modes[i] WHEN 'r' THEN _kept_writes[i] ELSE _kept_reads[i] END > 0;
        IF _kept_at IS NULL AND (_own[i] OR _other[i]) THEN
          _kept_at := i;
        END IF;
      END LOOP;
    END IF;
    IF NOT _busy AND _kept_at IS NULL AND _ahead IS NOT NULL THEN
      -- A grant overtakes them.
      SELECT array_agg(l.id),
             bool_or(l.overtaken >= _most AND l.id <> ALL(coalesce(_keepers, '{}')))
        INTO _ahead, _busy
        FROM (SELECT w.id, w.overtaken FROM "@space@".waiters w
               WHERE w.id = ANY(_ahead) AND w.expires > _now
                 AND (w.woken IS NULL OR w.woken > _now - interval '@comes_within@')
               ORDER BY w.id FOR NO KEY UPDATE) l;
      CONTINUE WHEN _busy;  -- another grant overtook one of them: look again
      _busy := false;
      UPDATE "@space@".waiters w SET overtaken = w.overtaken + 1 WHERE w.id = ANY(_ahead);
    END IF;

    -- 6. Nothing is in the way.
    IF NOT _busy AND _kept_at IS NULL THEN
      _now := clock_timestamp();
      _stamp := coalesce(_stamp, nextval('"@space@".stamps'::regclass));
      @mark@
      PERFORM "@space@".record_v@version@(_stamp, _names, _modes, _lease, _now, _token, _app,
        _instance, _epoch, _label, NOT (0 < ANY(_reads) OR 0 < ANY(_writes)));
      IF _replaced <> 0 THEN
        -- The answer may be lost: then its holder has not heard of this end.
        PERFORM "@space@".entomb_v@version@(_replaced, _old_end);
        DELETE FROM "@space@".locks l WHERE l.stamp = _replaced;
        -- It never ends sooner than the one whose place it takes.
        IF _old_end > _now + _lease * interval '1 microsecond' THEN
          UPDATE "@space@".locks h SET expires = _old_end
           WHERE h.stamp = _stamp AND h.expires IS NOT NULL;
          _lease := CASE WHEN isfinite(_old_end)
                         THEN (date_part('epoch', _old_end - _now) * 1000000)::bigint ELSE -1 END;
        END IF;
      END IF;
      IF pg_sequence_last_value('"@space@".never_observed'::regclass) IS NULL THEN
        PERFORM "@space@".trace_v@version@(_stamp, _names, _modes, _label, _now);
      END IF;
      IF _waiter <> 0 OR _freed <> '{}' OR _replaced <> 0 THEN
        PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, _reads,
                                                _writes, _freed);
      END IF;
      RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint,
        (SELECT string_agg(coalesce(f, _stamp)::text, chr(31) ORDER BY item)
           FROM unnest(_floors) WITH ORDINALITY u(f, item)));
    END IF;

    -- 7. Busy. The answer names one hold in the way, for people, and the first end of any.
    IF _kept_at IS NULL THEN
      SELECT (array_agg(l.name ORDER BY n.item, l.stamp))[1] AS name,
             (array_agg(l.mode ORDER BY n.item, l.stamp))[1] AS mode,
             (array_agg(l.stamp ORDER BY n.item, l.stamp))[1] AS stamp,
             (array_agg(h.label ORDER BY n.item, l.stamp))[1] AS label,
             min(h.expires) AS first_end
        INTO _in_the_way
        FROM unnest(_names, _modes, _own, _other) WITH ORDINALITY n(name, mode, own, other, item)
        JOIN "@space@".locks l ON l.name = n.name
         AND ((n.own AND l.mode = n.mode) OR (n.other AND l.mode <> n.mode))
         AND l.stamp <> _replaced
        LEFT JOIN "@space@".locks h ON h.stamp = l.stamp AND h.expires IS NOT NULL;
      CONTINUE WHEN _in_the_way.stamp IS NULL;  -- gone since: look again
    ELSE
      -- No hold. It names the first for whom the name is kept, and when that one stops to count.
      SELECT w.id, w.label, w.channel, w.ticket, w.woken, w.expires
        INTO _keeper
        FROM "@space@".waiter_names n JOIN "@space@".waiters w ON w.id = n.id
       WHERE n.name = _names[_kept_at] AND n.id = ANY(_keepers) ORDER BY n.id LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      IF _keeper.woken IS NULL AND _keeper.expires <= _now + interval '@fresh@' THEN
        PERFORM FROM "@space@".waiters w WHERE w.id = _keeper.id FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
          PERFORM pg_notify(_keeper.channel, _keeper.ticket);
          UPDATE "@space@".waiters w SET woken = _now WHERE w.id = _keeper.id;
          _keeper.woken := _now;
        END IF;
      END IF;
      -- Of the same types as above: the answer is planned once.
      SELECT _names[_kept_at] AS name,
             (CASE WHEN _other[_kept_at] = (_modes[_kept_at] = 'r') THEN 'w' ELSE 'r' END)::"char"
               AS mode,
             0::bigint AS stamp, 'the queue, for ' || _keeper.label AS label,
             least(_keeper.expires, _keeper.woken + interval '@comes_within@') AS first_end
        INTO _in_the_way;
    END IF;
    @unmark@
    EXIT WHEN _channel = '';

    -- 8. It will wait. If it is registered already, it keeps its place.
    SELECT w.expires, w.woken, w.overtaken >= _most AS keeps INTO _me
      FROM "@space@".waiters w WHERE w.id = _waiter;
    IF FOUND THEN
      IF _woken OR _me.woken IS NOT NULL OR _me.expires <= _now + interval '@fresh@' THEN
        PERFORM setval('"@space@".last_wait'::regclass,
                       (date_part('epoch', clock_timestamp()) * 1000000)::bigint);
        UPDATE "@space@".waiters w SET woken = NULL, expires = _now + interval '@life@'
         WHERE w.id = _waiter;
      END IF;
      IF _woken OR _me.woken IS NOT NULL THEN
        -- What it was woken for may do for one behind it. A name that its own mode uses up
        -- admits nobody else, and the end of that hold wakes the line again from its head.
        -- If names are kept for it, it counts as a hold there, too.
        FOR i IN 1 .. cardinality(_names) LOOP
          IF NOT (_own[i] OR _other[i]) AND _me.keeps THEN
            IF (CASE _modes[i] WHEN 'r' THEN _reads[i] ELSE _writes[i] END + 1 < _permits[i]) THEN
              PERFORM "@space@".wake_v@version@(_names[i], _waiter, _modes[i]);
            END IF;
          ELSIF NOT (_own[i] OR _other[i]) THEN
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
    -- that commit, and finds the waiter. Locking a row for its key hinders no renewal, and
    -- nobody who wakes or overtakes a waiter.
    IF _kept_at IS NULL THEN
      _at := coalesce(array_position(_other, true), array_position(_own, true));
      _need := CASE WHEN _other[_at] THEN 1 ELSE _permits[_at] END;
    ELSE
      PERFORM FROM "@space@".waiters w WHERE w.id = ANY(_keepers) ORDER BY w.id FOR KEY SHARE;
      GET DIAGNOSTICS _have = ROW_COUNT;
      CONTINUE WHEN _have < cardinality(_keepers);
      _at := _kept_at;
      _need := CASE WHEN _other[_at] THEN 0 WHEN _modes[_at] = 'r' THEN _reads[_at]
                    ELSE _writes[_at] END;
    END IF;
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
  -- Nobody was granted anything. If a crash loses this commit, it loses waiters, whose connections
  -- it has ended as well, and brings back holds that have expired.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN concat_ws(chr(31), 'B', _waiter,
    CASE WHEN isfinite(_in_the_way.first_end)
         THEN greatest(0, (date_part('epoch', _in_the_way.first_end - _now) * 1000000)::bigint)
         ELSE -1 END,
    _in_the_way.mode, _in_the_way.stamp, _in_the_way.name, _in_the_way.label);
END $$;
