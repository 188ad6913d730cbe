-- # Observes names: reads their traces, and makes missing ones.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds
-- #   @lock_unseen@: lock_unseen_advisory.sql or lock_unseen_serializable.sql
-- #   @sure@: what makes the commit wait for a synchronous standby

-- A row for each name, in their order; none: the request is stale; a single one with the last write
-- -1: nothing is observed for so many microseconds (_age). `_grain`: how old, in
-- microseconds, what is written down of the last observation may get.
--
-- One statement reads all, so a hold and its entry in the traces are seen together. It locks
-- nothing, for a grant and its entry are one transaction. A trace is made behind the locks that a
-- grant of the name takes. Otherwise a grant that had found none could be committed afterwards.
--
-- Locks are taken in the order of acquires: names, heads of holds by stamp, traces by name; each
-- kind once. If a sweep makes that not enough, it begins again (40001).
CREATE OR REPLACE FUNCTION "@space@".observe_v@version@(
  _names text[], _version bigint, _grain bigint, OUT _last_write bigint, OUT _label text,
  OUT _age bigint, OUT _being_written boolean) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _now timestamptz;
  _stamps bigint[];
  _labels text[];
  _ages bigint[];
  _written boolean[];
  _unseen text[];  -- names without a trace
  _old text[];     -- names of traces whose last observation was written down long ago
  _expired bigint[];
  _gone bigint[];
  _freed text[];
  _name text;
  _stamp bigint;
  _there integer;
  _again boolean := false;
  _left bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'observing needs transactions that are '
      'READ COMMITTED, not ' || upper(current_setting('transaction_isolation'));
  END IF;
  -- Known names are only read, and perhaps another server has taken this one's place.
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE EXCEPTION USING ERRCODE = '25006', MESSAGE = 'cannot observe in a read-only transaction';
  END IF;
  LOOP
    _now := clock_timestamp();
    -- A stamp base, or the stamp of a loss, above the last write says that later ones may be
    -- missing here.
    SELECT array_agg(greatest(t.last_write, b.base) ORDER BY n.item),
           array_agg(CASE WHEN t.last_write < b.base THEN '' ELSE t.label END
                     ORDER BY n.item),
           array_agg(CASE WHEN t.last_write >= b.base THEN
                       (date_part('epoch', greatest(_now, t.granted) - t.granted)
                        * 1000000)::bigint END
                     ORDER BY n.item),
           array_agg(EXISTS (SELECT FROM "@space@".locks l WHERE l.name = n.name AND l.mode = 'w')
                     ORDER BY n.item),
           array_agg(n.name ORDER BY n.item) FILTER (WHERE t.name IS NULL),
           array_agg(n.name) FILTER (
             WHERE t.observed < _now - _grain * interval '1 microsecond')
      INTO _stamps, _labels, _ages, _written, _unseen, _old
      FROM unnest(_names) WITH ORDINALITY n(name, item)
     CROSS JOIN (SELECT greatest(m.stamp_base, m.lost_stamp) AS base FROM "@space@".meta m) b
      LEFT JOIN "@space@".traces t ON t.name = n.name;
    -- Behind that look: a trace counts only as long as the configuration does.
    IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
      RETURN;
    END IF;
    _left := "@space@".quarantine_v@version@();
    IF _left > 0 THEN
      -- Somebody may be writing whose hold was lost.
      RETURN QUERY SELECT -1::bigint, ''::text, _left, false;
      RETURN;
    END IF;
    _expired := NULL;
    IF true = ANY(_written) THEN
      SELECT array_agg(DISTINCT h.stamp) INTO _expired
        FROM "@space@".locks l JOIN "@space@".locks h ON h.stamp = l.stamp AND h.expires <= _now
       WHERE l.name = ANY(_names) AND l.mode = 'w';
    END IF;
    EXIT WHEN _unseen IS NULL AND (_expired IS NULL OR _again);
    IF _again THEN
      RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'traces were swept meanwhile';
    END IF;
    _again := true;

    IF _unseen IS NOT NULL THEN
      @lock_unseen@
      IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
        RETURN;
      END IF;
      -- Drawn behind the locks, so it is above those of all grants before.
      _stamp := nextval('"@space@".stamps'::regclass);
      IF _stamp < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - @slack@ THEN
        _stamp := "@space@".raise_stamp_v@version@(0);
      END IF;
      -- Ahead of the rows, also in the log.
      IF pg_sequence_last_value('"@space@".never_observed'::regclass) IS NOT NULL THEN
        PERFORM setval('"@space@".never_observed'::regclass, 1, false);
      END IF;
      INSERT INTO "@space@".traces (last_write, observed, label, name)
      SELECT _stamp, _now, '', n FROM unnest(_unseen) n ON CONFLICT DO NOTHING;
    END IF;
    IF _expired IS NOT NULL THEN
      -- Perhaps nobody else comes who would. As in settle.sql: under the heads' locks, because a
      -- renewal may be under way.
      _gone := ARRAY(SELECT h.stamp FROM "@space@".locks h
                      WHERE h.stamp = ANY(_expired) AND h.expires <= _now
                      ORDER BY h.stamp FOR UPDATE);
      WITH gone AS (DELETE FROM "@space@".locks l WHERE l.stamp = ANY(_gone) RETURNING l.name)
      SELECT array_agg(DISTINCT g.name) INTO _freed FROM gone g;
      PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_freed) n;
    END IF;
  END LOOP;
  IF _old IS NOT NULL THEN
    PERFORM FROM "@space@".traces t WHERE t.name = ANY(_old) ORDER BY t.name FOR UPDATE;
    GET DIAGNOSTICS _there = ROW_COUNT;
    IF _there < cardinality(_old) THEN
      RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'traces were swept meanwhile';
    END IF;
    UPDATE "@space@".traces t SET observed = _now WHERE t.name = ANY(_old);
  END IF;
  IF current_setting('synchronous_standby_names') <> '' THEN
    -- A server that was replaced by its standby, and does not know it yet, can still be read, while
    -- the writes of others go to the new one. It can't commit any more.
    @sure@
  END IF;
  RETURN QUERY SELECT * FROM unnest(_stamps, _labels, _ages, _written);
END $$;
