-- # Converts a hold: an acquire that takes its place (semantics 29, 30). A function of its own,
-- # so that an ordinary acquire has nothing to do with it.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @moved@: whether the space may have been lost with another server (quarantine.sql)
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @lock_names@: lock_names_advisory.sql or lock_names_serializable.sql
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds

-- All names of the hold `_replaced` in another mode. Each of them is held, so there is no short
-- way. `_most` is NULL for a downgrade: it passes those who wait. 'N': the hold is not live, or
-- another application's.
CREATE OR REPLACE FUNCTION "@space@".convert_v@version@(
  _names text[], _modes "char"[], _permits integer[], _version bigint, _lease bigint,
  _least bigint, _token uuid, _app text, _instance text, _epoch bigint, _label text, _most bigint,
  _replaced bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _name text;
  _left bigint;
BEGIN
  @lock_names@
  -- NULL in a space whose rows are still being restored from a backup.
  IF pg_sequence_last_value('"@space@".config_version'::regclass) IS DISTINCT FROM _version THEN
    RETURN 'S';
  END IF;
  IF @moved@ THEN
    _left := "@space@".quarantine_v@version@();
    IF _left > 0 THEN
      RETURN concat_ws(chr(31), 'Q', _left);
    END IF;
  END IF;
  IF coalesce(pg_sequence_last_value('"@space@".stamps'::regclass), 0)
     < greatest(_least - 1,
                (date_part('epoch', clock_timestamp()) * 1000000)::bigint - @slack@) THEN
    PERFORM "@space@".raise_stamp_v@version@(_least);
  END IF;
  RETURN "@space@".settle_v@version@(_names, _modes, _permits, _lease, _token, _app, _instance,
                                     _epoch, _label, 0::bigint, false, ''::text, ''::text,
                                     NULL::bigint, _most, _replaced);
END $$;
