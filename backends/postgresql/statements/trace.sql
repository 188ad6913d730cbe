-- # What a grant and its conditions have to do with traces of writes.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

-- A write grant changes the traces of its names, in its own transaction. REQUIRES: the names are
-- locked.
--
-- The rows are locked in the order of their names, for observers lock several of them, too.
CREATE OR REPLACE FUNCTION "@space@".trace_v@version@(
  _stamp bigint, _names text[], _modes "char"[], _label text, _now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _traced text[];
BEGIN
  IF cardinality(_names) = 1 THEN
    IF _modes[1] = 'w' THEN
      UPDATE "@space@".traces t SET last_write = _stamp, label = _label, granted = _now
       WHERE t.name = _names[1];
    END IF;
    RETURN;
  END IF;
  _traced := ARRAY(SELECT t.name FROM "@space@".traces t
                    WHERE t.name = ANY(ARRAY(SELECT n.name FROM unnest(_names, _modes) n(name, mode)
                                              WHERE n.mode = 'w'))
                    ORDER BY t.name FOR NO KEY UPDATE);
  IF _traced <> '{}' THEN
    UPDATE "@space@".traces t SET last_write = _stamp, label = _label, granted = _now
     WHERE t.name = ANY(_traced);
  END IF;
END $$;

-- The answer to an acquire if one of its conditions is broken, else NULL. `_unchanged`: the stamp
-- that the trace of each name has to have, or NULL. REQUIRES: the names are locked, or this
-- transaction fails if the present state is another than what it sees.
CREATE OR REPLACE FUNCTION "@space@".changed_v@version@(
  _names text[], _unchanged bigint[], _waiter bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _now timestamptz := clock_timestamp();
  _one record;
BEGIN
  -- A stamp base, or the stamp of a loss, above the last write says that later ones may be missing
  -- here.
  SELECT n.item - 1 AS item, t.last_write < b.base AS unknown, t.label,
         CASE WHEN t.name IS NULL THEN 0 ELSE greatest(t.last_write, b.base) END AS value,
         (date_part('epoch', greatest(_now, t.granted) - t.granted) * 1000000)::bigint AS age
    INTO _one
    FROM unnest(_names, _unchanged) WITH ORDINALITY n(name, expected, item)
   CROSS JOIN (SELECT greatest(m.stamp_base, m.lost_stamp) AS base FROM "@space@".meta m) b
    LEFT JOIN "@space@".traces t ON t.name = n.name
   WHERE n.expected IS NOT NULL
     AND (t.name IS NULL OR greatest(t.last_write, b.base) <> n.expected)
   ORDER BY n.item LIMIT 1;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF _waiter <> 0 THEN
    PERFORM "@space@".end_wait_v@version@(_waiter, true);
  END IF;
  RETURN concat_ws(chr(31), 'C', _one.item, _one.value,
                   CASE WHEN _one.unknown THEN -1 ELSE coalesce(_one.age, -1) END,
                   CASE WHEN _one.unknown THEN '' ELSE coalesce(_one.label, '') END);
END $$;
