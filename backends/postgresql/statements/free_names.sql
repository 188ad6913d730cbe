-- # A part of release.sql that only strategy=serializable has: the rows of the names are kept
-- # in step. A release locks them before the hold's rows, as an acquire does.
-- #
-- # Filled in:
-- #   @space@: the schema
-- #   @whose@: the condition that the hold is the application's; nothing for an operator

SELECT h.name, h.size, h.alone INTO _name, _size, _alone
    FROM "@space@".locks h
   WHERE h.stamp = _stamp AND h.expires IS NOT NULL@whose@;
  -- If it was the only hold on its names, and none was granted since, they are free now.
  IF _alone AND _size = 1 THEN
    UPDATE "@space@".names n SET last = -_stamp WHERE n.name = _name AND n.last = _stamp;
  ELSIF _alone THEN
    FOR _name IN SELECT l.name FROM "@space@".locks l WHERE l.stamp = _stamp ORDER BY l.name LOOP
      UPDATE "@space@".names n SET last = -_stamp WHERE n.name = _name AND n.last = _stamp;
    END LOOP;
  END IF;
