-- # A part of release.sql that only a release has: the hold is not there.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version

-- Its holder ends what the space may have forgotten. Once: from now on it has ended.
    IF _mine AND "@space@".quarantine_v@version@() > 0 THEN
      PERFORM "@space@".entomb_v@version@(_stamp, clock_timestamp())
        WHERE NOT EXISTS (SELECT FROM "@space@".ended e WHERE e.stamp = _stamp);
      IF FOUND THEN
        RETURN 'R';
      END IF;
    END IF;
