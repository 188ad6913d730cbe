-- # A part of sweep.sql that only strategy=serializable has: deletes rows of names that
-- # were not used for a while. After a row is deleted, every acquire with an older state
-- # fails, and then finds the name unknown or made again: nothing new can be taken for the
-- # old row.
-- #
-- # Filled in:
-- #   @space@: the schema

SELECT array_agg(s.name) FILTER (WHERE abs(s.last) < _old),
         count(*), max(s.name)
    INTO _names, _looked, _next_name
    FROM (SELECT n.name, n.last FROM "@space@".names n WHERE n.name > _from_name
           ORDER BY n.name LIMIT 5000) s;
  IF _looked < 5000 THEN
    _next_name := '';
  END IF;
  _unused := '{}';
  FOR _name IN SELECT n.name FROM "@space@".names n
                WHERE n.name = ANY(_names) AND abs(n.last) < _old
                ORDER BY n.name LIMIT 1000 FOR UPDATE SKIP LOCKED
  LOOP
    _unused := _unused || _name;
  END LOOP;
  -- Behind the rows' locks, so that no grant is missed.
  DELETE FROM "@space@".names n
   WHERE n.name = ANY(_unused)
     AND NOT EXISTS (SELECT FROM "@space@".locks l WHERE l.name = n.name);
