-- # A part of settle.sql that only strategy=serializable has: the set is not granted by this
-- # call.
-- #
-- # Filled in:
-- #   @space@: the schema

UPDATE "@space@".names n SET last = -_stamp
     WHERE n.name = ANY(_names) AND n.last = _stamp;
