-- # A part of reregister.sql: the locks of acquire_serializable.sql, in its order. The registration
-- # changes these rows (mark_names.sql), so that a transaction whose state is older fails there.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @class@: the class of the space's advisory locks

PERFORM pg_advisory_xact_lock_shared(@class@, 0);
  INSERT INTO "@space@".names
  SELECT n, -(date_part('epoch', clock_timestamp()) * 1000000)::bigint
    FROM unnest(_names) n ORDER BY n COLLATE "C"
  ON CONFLICT DO NOTHING;
  FOREACH _name IN ARRAY _names LOOP
    PERFORM FROM "@space@".names n WHERE n.name = _name FOR UPDATE;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'names were swept meanwhile';
    END IF;
  END LOOP;
