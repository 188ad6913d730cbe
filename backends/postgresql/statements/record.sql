-- # Writes the rows of a hold, for both strategies.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

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
