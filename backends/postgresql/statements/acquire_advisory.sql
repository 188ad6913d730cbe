-- # An acquire with strategy=advisory: the names are locked by advisory locks, under READ
-- # COMMITTED.
-- #
-- # Under READ COMMITTED each statement of a VOLATILE function sees what was committed before
-- # that statement began. So a look that comes after the locks were taken, in a statement of
-- # its own, sees all holds on these names. (In one statement with the locks, or under
-- # REPEATABLE READ, it would look at a state from before them: measured to grant twice.
-- # tests/postgresql/traps_test.cpp keeps showing it.)
-- #
-- # One statement grants a free set; settle.sql does everything else. If waiters may be
-- # overtaken only `_most` times (NULL: without a bound, as in a call of an older program),
-- # a set for which somebody waits is not simply free. Who waits for a name has registered
-- # under that name's lock, so the look for waiters misses nobody.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @moved@: whether the space may have been lost with another server (quarantine.sql)
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @names@: the class of the names' advisory locks
-- #   @plans@: how the function's statements are planned
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds
-- #   @most_names@: how many names at most are locked one by one
-- #   @life_us@: a little more, in microseconds, than how long a waiter counts that does
-- #     not refresh its row

CREATE OR REPLACE FUNCTION "@space@".acquire_v@version@(
  _names text[], _modes "char"[], _permits integer[], _version bigint, _lease bigint,
  _least bigint, _token uuid, _app text, _instance text, _epoch bigint, _label text,
  _waiter bigint, _woken boolean, _channel text, _ticket text, _most bigint DEFAULT NULL,
  _unchanged bigint[] DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _stamp bigint;
  _now timestamptz;
  _changed text;
  _left bigint;
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
  -- NULL in a space whose rows are still being restored from a backup.
  IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
    RETURN 'S';
  END IF;
  IF @moved@ THEN
    _left := "@space@".quarantine_v@version@();
    IF _left > 0 THEN
      RETURN concat_ws(chr(31), 'Q', _left);
    END IF;
  END IF;
  IF _unchanged IS NOT NULL THEN
    _changed := "@space@".changed_v@version@(_names, _unchanged, _waiter);
    IF _changed IS NOT NULL THEN
      RETURN _changed;
    END IF;
  END IF;
  _now := clock_timestamp();
  IF coalesce(pg_sequence_last_value('"@space@".stamps'::regclass), 0)
     < greatest(_least - 1, (date_part('epoch', _now) * 1000000)::bigint - @slack@) THEN
    PERFORM "@space@".raise_stamp_v@version@(_least);
  END IF;
  IF _most IS NOT NULL AND pg_sequence_last_value('"@space@".last_wait'::regclass)
                           > (date_part('epoch', _now) * 1000000)::bigint - @life_us@ THEN
    IF EXISTS (SELECT FROM "@space@".waiter_names w
                WHERE w.name = ANY(_names) AND (_waiter = 0 OR w.id < _waiter)) THEN
      RETURN "@space@".settle_v@version@(_names, _modes, _permits, _lease, _token, _app,
                                         _instance, _epoch, _label, _waiter, _woken, _channel,
                                         _ticket, NULL::bigint, _most);
    END IF;
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
                                       NULL::bigint, _most);
  END IF;
  _stamp := currval('"@space@".stamps'::regclass);
  IF pg_sequence_last_value('"@space@".never_observed'::regclass) IS NULL THEN
    PERFORM "@space@".trace_v@version@(_stamp, _names, _modes, _label, _now);
  END IF;
  IF _waiter <> 0 THEN
    PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, NULL::integer[],
                                            NULL::integer[], '{}'::text[]);
  END IF;
  RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint);
END $$;
