-- # What a file of version 3 lacks.

ALTER TABLE space ADD COLUMN stamp_ceiling INTEGER NOT NULL DEFAULT 0;
