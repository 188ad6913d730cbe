-- # Changes the configuration, for operators.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @plans@: how the function's statements are planned

-- 'p': permits of a name and mode (NULL: back to the default); 'l': longest lease in
-- microseconds; 'o': the bound of overtaking; 'm': migration phase; 'b': stamp base.
CREATE OR REPLACE FUNCTION "@space@".change_config_v@version@(
  _what "char", _of text, _of_mode "char", _to bigint,
  OUT _kind "char", OUT _name text, OUT _mode "char", OUT _value bigint) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(@class@, 0);
  PERFORM "@space@".next_version_v@version@();
  IF _what = 'p' THEN
    DELETE FROM "@space@".lock_permits p WHERE p.name = _of AND p.mode = _of_mode;
    IF _to IS NOT NULL THEN
      INSERT INTO "@space@".lock_permits VALUES (_of, _of_mode, _to);
    END IF;
  ELSIF _what = 'l' THEN
    -- Holds may go on with a longer lease, and a quarantine has to outlast them.
    IF to_regclass('"@space@".locks') IS NOT NULL
       AND EXISTS (SELECT FROM "@space@".meta m WHERE m.max_lease > _to) THEN
      IF EXISTS (SELECT FROM "@space@".locks) THEN
        UPDATE "@space@".meta
           SET longest = greatest(longest,
                                  clock_timestamp() + max_lease * interval '1 microsecond');
      END IF;
    END IF;
    UPDATE "@space@".meta SET max_lease = _to;
  ELSIF _what = 'o' THEN
    UPDATE "@space@".meta SET max_overtakes = _to;
  ELSIF _what = 'm' THEN
    UPDATE "@space@".meta SET migration_phase = _to;
  ELSIF _what = 'b' THEN
    UPDATE "@space@".meta SET stamp_base = greatest(stamp_base, _to);
    -- No other transaction draws a stamp at the same time.
    PERFORM "@space@".raise_stamp_v@version@(_to + 1);
  END IF;
  -- The change makes the waiters' requests stale; new permits may admit them.
  PERFORM "@space@".wake_all_v@version@();
  RETURN QUERY SELECT * FROM "@space@".config_rows_v@version@();
END $$;
