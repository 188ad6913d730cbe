-- # Draws a stamp that is not behind the clock or a minimum.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @class@: the class of the space's advisory locks
-- #   @slack@: how far a stamp may lag behind the clock, in microseconds

-- Another stamp, where the one drawn is behind the clock or the minimum. A sequence has
-- no "raise to", so there is a lock for it. Whoever is behind waits for that lock, and no
-- number drawn behind is ever used: so nobody is granted a number that setval repeats.
--
-- The lock ends here and not with the transaction: some draw their stamp before they lock names,
-- others behind that, and they would wait for each other in a circle. Rolling a block back ends
-- the locks that it took. A sequence is never rolled back.
CREATE OR REPLACE FUNCTION "@space@".raise_stamp_v@version@(_least bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _clock bigint;
  _stamp bigint;
BEGIN
  BEGIN
    PERFORM pg_advisory_xact_lock(@class@, 1);
    _clock := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    -- A jump to a minimum is a long one: others draw between the look and the setval.
    PERFORM setval('"@space@".stamps'::regclass,
                   CASE WHEN s.last_value + 1 < _least
                        THEN greatest(_least - 1, _clock, s.last_value +
                                      least(1000000, 9223372036854775806 - s.last_value))
                        ELSE _clock END)
       FROM "@space@".stamps s
      WHERE s.last_value + 1 < _least OR s.last_value + 1 < _clock - @slack@;
    _stamp := nextval('"@space@".stamps'::regclass);
    RAISE EXCEPTION USING ERRCODE = 'LS005', MESSAGE = 'the lock ends';
  EXCEPTION WHEN SQLSTATE 'LS005' THEN
    RETURN _stamp;
  END;
END $$;
