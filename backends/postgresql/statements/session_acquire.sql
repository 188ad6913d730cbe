-- # An acquire with strategy=session: session-level advisory locks, one for each key.
-- #
-- # It never waits. It takes all keys or leaves none: a transaction that fails does not give
-- # back session-level locks, so the function does. Only simple expressions are on the way to
-- # a grant: a statement that reads or writes a table would cost as much as all the rest.
-- #
-- # So would a search path of its own (SET): it costs more than the locks. Instead every
-- # function, type and operator in it is named with its schema: whatever the caller's search
-- # path is, nothing else can be meant. (IS DISTINCT FROM and IN look an operator up by the
-- # search path: they must not occur.)
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @clients@: the class of the clients' advisory locks
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds

-- `_have`: the index of a key that this session has waited for and holds already; 0: none; -1: the
-- client knows that the set is not free, and asks only whether its configuration is the present one.
CREATE OR REPLACE FUNCTION "@space@".session_acquire_v@version@(
  _keys pg_catalog.int8[], _shared pg_catalog.bool[], _have pg_catalog.int4,
  _version pg_catalog.int8, _least pg_catalog.int8) RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
  _size pg_catalog.int4 := pg_catalog.cardinality(_keys);
  _got pg_catalog.int4 := 0;
  _stamp pg_catalog.int8;
  _now pg_catalog.int8;
BEGIN
  -- NULL in a space whose rows are still being restored from a backup.
  IF pg_catalog.pg_sequence_last_value('"@space@".config_version'::pg_catalog.regclass)
     OPERATOR(pg_catalog.=) _version THEN
    NULL;
  ELSE
    IF _have OPERATOR(pg_catalog.>) 0 THEN
      PERFORM "@space@".session_undo_v@version@(_keys, _shared, 0, _have);
    END IF;
    RETURN 'S';
  END IF;
  IF _have OPERATOR(pg_catalog.<) 0 THEN
    RETURN 'B';
  END IF;
  FOR _i IN 1 .. _size LOOP
    IF _i OPERATOR(pg_catalog.<>) _have THEN
      IF _shared[_i] THEN
        EXIT WHEN NOT pg_catalog.pg_try_advisory_lock_shared(_keys[_i]);
      ELSE
        EXIT WHEN NOT pg_catalog.pg_try_advisory_lock(_keys[_i]);
      END IF;
    END IF;
    _got := _i;
  END LOOP;
  IF _got OPERATOR(pg_catalog.<) _size THEN
    -- Nothing of the set is held while its client waits.
    RETURN "@space@".session_undo_v@version@(_keys, _shared, _got, _have);
  END IF;
  -- Drawn now that all keys are held.
  _stamp := pg_catalog.nextval('"@space@".stamps'::pg_catalog.regclass);
  _now := (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8;
  IF _stamp OPERATOR(pg_catalog.<) (_now OPERATOR(pg_catalog.-) @slack@::pg_catalog.int8)
     OR _stamp OPERATOR(pg_catalog.<) _least THEN
    _stamp := "@space@".raise_stamp_v@version@(_least);
  END IF;
  -- This session's commits don't wait for the disk. If a crash forgets a stamp, the next one is
  -- raised to the clock, which is later by then. But one that runs ahead of the clock has to be on
  -- the disk: this record makes the commit wait for all that the log has.
  IF _stamp OPERATOR(pg_catalog.>) (_now OPERATOR(pg_catalog.+) @slack@::pg_catalog.int8) THEN
    PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    PERFORM pg_catalog.pg_logical_emit_message(true, 'lockset', '');
  END IF;
  RETURN pg_catalog.concat_ws(pg_catalog.chr(31), 'G', _stamp, _now);
END $$;

-- Gives back the first `_got` keys, and the one with the index `_have`. Answers what is in the way
-- of the next one.
CREATE OR REPLACE FUNCTION "@space@".session_undo_v@version@(
  _keys bigint[], _shared boolean[], _got integer, _have integer) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _stamp bigint;
  _mode "char";
  _label text;
BEGIN
  FOR _i IN 1 .. cardinality(_keys) LOOP
    IF _i <= _got OR _i = _have THEN
      IF _shared[_i] THEN
        PERFORM pg_advisory_unlock_shared(_keys[_i]);
      ELSE
        PERFORM pg_advisory_unlock(_keys[_i]);
      END IF;
    END IF;
  END LOOP;
  -- As far as its client has published it, and lives.
  SELECT h.stamp, h.mode, h.label INTO _stamp, _mode, _label FROM "@space@".session_holds h
   WHERE h.key = _keys[_got + 1] AND NOT pg_try_advisory_xact_lock_shared(@clients@, h.client)
   LIMIT 1;
  RETURN concat_ws(chr(31), 'B', _got + 1, coalesce(_stamp, 0), coalesce(_mode, 'w'),
                   coalesce(_label, ''));
END $$;
