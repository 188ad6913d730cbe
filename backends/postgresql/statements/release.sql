-- # Ends a hold: a release by its application, or a break by an operator. There are two
-- # functions with one text, so that each can be granted by itself. NULL is no application.
-- #
-- # A statement that changes a row checks its condition again once it has the row's lock,
-- # so the expiry is judged there: by clock_timestamp(), which goes on while it waits. Like
-- # all calls but the acquire, it runs under READ COMMITTED with both strategies.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @version@: the schema's version
-- #   @plans@: how the function's statements are planned
-- #   @sure@: what makes the commit wait for a synchronous standby
-- #   @free@: free_names.sql with strategy=serializable, else a comment
-- #   @life_us@: a little more, in microseconds, than how long a waiter counts that does
-- #     not refresh its row
-- #   @release_says@: a comment: what the function does
-- #   @release@: the function's name and parameters
-- #   @forgotten@: for a release, what it does about a hold that is not there
-- #   @entomb@: makes sure that the hold is not registered again
-- #   @whose@: the condition that the hold is the application's; nothing for an operator

-- @release_says@
-- 'R': this call ended the hold. 'N': there was none. One that had expired is removed, too, but
-- this call did not end it.
CREATE OR REPLACE FUNCTION "@space@".@release@ RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp @plans@ AS $$
DECLARE
  _name text;
  _size integer;
  _alone boolean;
  _live boolean;
  _expires timestamptz;
  _names text[];
BEGIN
  @free@
  DELETE FROM "@space@".locks h
   WHERE h.stamp = _stamp AND h.expires IS NOT NULL@whose@
  RETURNING h.name, h.size, h.expires, h.expires > clock_timestamp()
       INTO _name, _size, _expires, _live;
  IF NOT FOUND THEN
    @forgotten@
    @sure@
    RETURN 'N';
  END IF;
  @entomb@
  -- Statements of their own, so that they see who registered while the one above waited.
  IF _size > 1 THEN
    WITH rest AS (DELETE FROM "@space@".locks l WHERE l.stamp = _stamp RETURNING l.name)
    SELECT array_agg(r.name) INTO _names FROM rest r;
  END IF;
  -- Has anybody registered lately? To look for them costs a fifth of a release.
  IF pg_sequence_last_value('"@space@".last_wait'::regclass)
     > (date_part('epoch', clock_timestamp()) * 1000000)::bigint - @life_us@ THEN
    _names := _name || _names;
    IF EXISTS (SELECT FROM "@space@".waiter_names w WHERE w.name = ANY(_names)) THEN
      PERFORM "@space@".wake_v@version@(n, 0::bigint, NULL::"char") FROM unnest(_names) n;
    END IF;
  END IF;
  RETURN CASE WHEN _live THEN 'R' ELSE 'N' END;
END $$;
