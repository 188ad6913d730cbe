-- # What a file of version 1 lacks.

ALTER TABLE space ADD COLUMN max_overtakes INTEGER NOT NULL DEFAULT @max_overtakes@;
ALTER TABLE holds ADD COLUMN life_file INTEGER;
ALTER TABLE holds ADD COLUMN life_byte INTEGER;
ALTER TABLE waiters ADD COLUMN overtaken INTEGER NOT NULL DEFAULT 0;
