-- # A part of convert.sql: the locks of acquire_advisory.sql, in its order.
-- #
-- # Filled in:
-- #   @class@: the class of the space's advisory locks
-- #   @names@: the class of the names' advisory locks
-- #   @most_names@: how many names at most are locked one by one

IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'strategy=advisory needs transactions '
      'that are READ COMMITTED, not ' || upper(current_setting('transaction_isolation'));
  END IF;
  IF cardinality(_names) > @most_names@ THEN
    PERFORM pg_advisory_xact_lock(@class@, 0);
  ELSE
    PERFORM pg_advisory_xact_lock_shared(@class@, 0);
    PERFORM pg_advisory_xact_lock(@names@, k.key)
       FROM (SELECT DISTINCT hashtext(n) AS key FROM unnest(_names) n ORDER BY 1) k;
  END IF;
