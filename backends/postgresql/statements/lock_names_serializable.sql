-- # A part of convert.sql: the locks of acquire_serializable.sql, in its order. The grant changes
-- # these rows (mark_names.sql), so that a transaction whose state is older fails there.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @class@: the class of the space's advisory locks

IF current_setting('transaction_isolation') <> 'serializable' THEN
    RAISE EXCEPTION USING ERRCODE = 'LS002', MESSAGE = 'strategy=serializable needs '
      'transactions that are SERIALIZABLE, not '
      || upper(current_setting('transaction_isolation'));
  END IF;
  PERFORM pg_advisory_xact_lock_shared(@class@, 0);
  FOREACH _name IN ARRAY _names LOOP
    PERFORM FROM "@space@".names n WHERE n.name = _name FOR UPDATE;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'LS003', MESSAGE = 'a name without its row';
    END IF;
  END LOOP;
