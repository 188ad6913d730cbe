-- # The last write of each name that somebody observed; what a file of version 2 lacks.
-- #
-- # A trigger keeps them, so that the writes of an older program that still has the file open
-- # count, too.

CREATE TABLE traces(
  name BLOB PRIMARY KEY,
  last_write INTEGER NOT NULL,
  label TEXT NOT NULL,
  -- NULL: not known.
  written_wall_us INTEGER,
  observed_wall_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER trace_write AFTER INSERT ON hold_names WHEN NEW.mode = 1 BEGIN
  UPDATE traces SET last_write = NEW.stamp,
    (label, written_wall_us) = (SELECT label, since_wall_us FROM holds WHERE stamp = NEW.stamp)
  WHERE name = NEW.name;
END;
