-- One row: removed. The row stays, and its version with it: if it were deleted and added again, it
-- would begin at 1, and a version that somebody read before would fit again (ABA).
UPDATE invoices SET removed = 1, version = version + 1
WHERE id = :id AND version = :version AND removed = 0;
