-- # Registers a hold again that was lost with the state of another server (quarantine.sql).
-- #
-- # It runs under READ COMMITTED with both strategies.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @lock_held@: lock_names_advisory.sql or lock_held_serializable.sql
-- #   @mark@: mark_names.sql with strategy=serializable, else a comment

-- 'W' and the microseconds left of its lease (-1: for ever). 'S': another version. 'N': it has
-- ended, or it is not the time for this. A lease below 0 means for ever. `_since`: when it was
-- granted, in microseconds.
CREATE OR REPLACE FUNCTION "@space@".reregister_v@version@(
  _names text[], _modes "char"[], _permits integer[], _version bigint, _lease bigint,
  _stamp bigint, _token uuid, _app text, _instance text, _epoch bigint, _label text,
  _since bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _name text;
  _now timestamptz;
  _head record;
  _there bigint[];
  _mine timestamptz;  -- the end of its lease, if it is there
  _live bigint[] := '{}';
  _over bigint[] := '{}';
  _beside bigint[];
  _against bigint[];
  _earlier bigint[] := '{}';
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'registering a hold needs transactions '
      'that are READ COMMITTED, not ' || upper(current_setting('transaction_isolation'));
  END IF;
  @lock_held@
  IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
    RETURN 'S';
  END IF;
  -- Behind the names' locks: what is granted afterwards finds this hold, or came before it.
  IF "@space@".quarantine_v@version@() = 0 THEN
    RETURN 'N';
  END IF;
  IF _lease > (SELECT m.max_lease FROM "@space@".meta m) THEN
    PERFORM "@space@".note_lease_v@version@(_lease);
  END IF;
  -- Heads in the order of stamps, as everywhere; its own among them.
  _there := ARRAY(SELECT DISTINCT l.stamp FROM "@space@".locks l WHERE l.name = ANY(_names));
  FOR _head IN SELECT h.stamp, h.expires, h.app, h.token FROM "@space@".locks h
                WHERE h.stamp = ANY(_there) AND h.expires IS NOT NULL
                ORDER BY h.stamp FOR UPDATE
  LOOP
    IF _head.stamp = _stamp THEN
      IF _head.token IS DISTINCT FROM _token OR _head.app <> _app THEN
        RETURN 'N';
      END IF;
      _mine := _head.expires;
    ELSIF _head.expires <= clock_timestamp() THEN
      _over := _over || _head.stamp;
    ELSE
      _live := _live || _head.stamp;
    END IF;
  END LOOP;
  -- Behind the head's lock: whoever ended it has committed both, or will find it.
  IF EXISTS (SELECT FROM "@space@".ended e WHERE e.stamp = _stamp)
     OR EXISTS (SELECT FROM "@space@".epochs e
                 WHERE e.app = _app AND e.epoch > _epoch AND e.epoch <> _stamp) THEN
    RETURN 'N';
  END IF;
  -- Of two that can't have been held at once the later has the greater stamp: the earlier one had
  -- ended, and only its registration came first, or its end was lost.
  FOR i IN 1 .. cardinality(_names) LOOP
    SELECT coalesce(array_agg(l.stamp) FILTER (WHERE l.mode = _modes[i]), '{}'),
           coalesce(array_agg(l.stamp) FILTER (WHERE l.mode <> _modes[i]), '{}')
      INTO _beside, _against
      FROM "@space@".locks l WHERE l.name = _names[i] AND l.stamp = ANY(_live);
    IF cardinality(_beside) >= _permits[i] THEN
      IF _permits[i] > 1 THEN
        RETURN 'N';
      END IF;
      _against := _against || _beside;
    END IF;
    IF _stamp < ANY(_against) THEN
      RETURN 'N';
    END IF;
    _earlier := _earlier || _against;
  END LOOP;
  PERFORM "@space@".entomb_v@version@(h.stamp, h.expires)
     FROM "@space@".locks h WHERE h.stamp = ANY(_earlier) AND h.expires IS NOT NULL;
  DELETE FROM "@space@".locks l WHERE l.stamp = ANY(_over || _earlier);
  _now := clock_timestamp();
  IF _mine IS NULL THEN
    PERFORM "@space@".record_v@version@(_stamp, _names, _modes, _lease, _now, _token, _app,
                                        _instance, _epoch, _label, false);
    UPDATE "@space@".locks h SET created = to_timestamp(_since / 1000000.0)
     WHERE h.stamp = _stamp AND h.expires IS NOT NULL;
  END IF;
  UPDATE "@space@".locks h
     SET expires = greatest(h.expires, CASE WHEN _lease < 0 THEN 'infinity'
                                       ELSE _now + _lease * interval '1 microsecond' END)
   WHERE h.stamp = _stamp AND h.expires IS NOT NULL
  RETURNING h.expires INTO _mine;
  @mark@
  IF coalesce(pg_sequence_last_value('"@space@".stamps'::regclass), 0) < _stamp THEN
    PERFORM "@space@".raise_stamp_v@version@(_stamp + 1);
  END IF;
  RETURN concat_ws(chr(31), 'W', CASE WHEN isfinite(_mine)
                                 THEN (date_part('epoch', _mine - _now) * 1000000)::bigint
                                 ELSE -1 END);
END $$;
