-- First in the transaction; then change, add and delete rows of the aggregate as you like. No row:
-- somebody changed one of them; roll back.
UPDATE versions SET version = version + 1
WHERE aggregate = :aggregate AND version = :version;
