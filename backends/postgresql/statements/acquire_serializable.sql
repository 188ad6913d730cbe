-- # An acquire with strategy=serializable: the names are locked by updating a row for each,
-- # under SERIALIZABLE.
-- #
-- # Under SERIALIZABLE all statements see the state at the transaction's beginning,
-- # whatever is locked later. It is safe because a grant changes the permanent row of each
-- # name: a transaction whose state is older than another grant on the name fails there
-- # (40001), even if the server's predicate locks should have a hole. A name whose row says
-- # that it is free needs no further look. So transactions on other names read nothing that
-- # this one writes, and don't fail for nothing.
-- #
-- # If waiters may be overtaken only `_most` times (NULL: without a bound, as in a call of an
-- # older program), a set for which somebody waits is not simply free. A waiter that
-- # registered since this transaction's state was fixed stands behind this request.
-- #
-- # The version of the configuration must be the present one, not that of the beginning: so
-- # it is read from a sequence.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @moved@: whether the space may have been lost with another server (quarantine.sql)
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @plans@: how the function's statements are planned
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds
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
  _free boolean := true;
  _ahead boolean := false;  -- others may have waited for a part of the set before
  _name text;
  _changed text;
  _left bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'serializable' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'strategy=serializable needs '
      'transactions that are SERIALIZABLE, not '
      || upper(current_setting('transaction_isolation'));
  END IF;
  IF pg_advisory_xact_lock_shared(@class@, 0) IS NULL THEN END IF;
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
  -- Drawn after this transaction's state was fixed. A conflicting grant that is not part
  -- of that state makes this one fail below, so this stamp is above all that count.
  _stamp := nextval('"@space@".stamps'::regclass);
  _now := clock_timestamp();
  IF _stamp < _least OR _stamp < (date_part('epoch', _now) * 1000000)::bigint - @slack@ THEN
    _stamp := "@space@".raise_stamp_v@version@(_least);
  END IF;
  IF _most IS NOT NULL AND pg_sequence_last_value('"@space@".last_wait'::regclass)
                           > (date_part('epoch', _now) * 1000000)::bigint - @life_us@ THEN
    _ahead := EXISTS (SELECT FROM "@space@".waiter_names w
                       WHERE w.name = ANY(_names) AND (_waiter = 0 OR w.id < _waiter));
  END IF;
  FOREACH _name IN ARRAY _names LOOP
    -- A change makes others fail that began before: none for a set that may be refused.
    IF NOT _ahead THEN
      UPDATE "@space@".names n SET last = _stamp WHERE n.name = _name AND n.last <= 0;
    END IF;
    IF _ahead OR NOT FOUND THEN
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
                                       _stamp, _most);
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
  IF pg_sequence_last_value('"@space@".never_observed'::regclass) IS NULL THEN
    PERFORM "@space@".trace_v@version@(_stamp, _names, _modes, _label, _now);
  END IF;
  IF _waiter <> 0 THEN
    PERFORM "@space@".leave_line_v@version@(_waiter, _names, _modes, _permits, NULL::integer[],
                                            NULL::integer[], '{}'::text[]);
  END IF;
  RETURN concat_ws(chr(31), 'G', _stamp, _lease, (date_part('epoch', _now) * 1000000)::bigint);
END $$;
