-- # A part of observe.sql: the locks of acquire_advisory.sql, in its order.
-- #
-- # Filled in:
-- #   @class@: the class of the space's advisory locks
-- #   @names@: the class of the names' advisory locks
-- #   @most_names@: how many names at most are locked one by one

IF cardinality(_unseen) > @most_names@ THEN
        PERFORM pg_advisory_xact_lock(@class@, 0);
      ELSE
        PERFORM pg_advisory_xact_lock_shared(@class@, 0);
        PERFORM pg_advisory_xact_lock(@names@, k.key)
           FROM (SELECT DISTINCT hashtext(n) AS key FROM unnest(_unseen) n ORDER BY 1) k;
      END IF;
