-- # A part of observe.sql: the locks of acquire_serializable.sql, in its order. The rows of the
-- # names are changed and not only locked, so that a grant whose state is older than the new trace
-- # fails there.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @class@: the class of the space's advisory locks

PERFORM pg_advisory_xact_lock_shared(@class@, 0);
      FOREACH _name IN ARRAY _unseen LOOP
        INSERT INTO "@space@".names AS n
        VALUES (_name, -(date_part('epoch', clock_timestamp()) * 1000000)::bigint)
        ON CONFLICT (name) DO UPDATE SET last = n.last;
      END LOOP;
