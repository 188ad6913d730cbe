-- # Takes a waiter out of the line when its set is granted.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

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
