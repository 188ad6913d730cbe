-- # What a file of an older program lacks. Such a program goes on with it, and is not fair.

ALTER TABLE space ADD COLUMN max_overtakes INTEGER NOT NULL DEFAULT @max_overtakes@;
ALTER TABLE waiters ADD COLUMN overtaken INTEGER NOT NULL DEFAULT 0;
