-- For a record that the change depends on and does not change itself: in the same transaction,
-- before the change. No row: it is another one now; roll back. The row stays as it is until COMMIT.
-- (SQLite has one writer at a time: there BEGIN IMMEDIATE, and without FOR UPDATE.)
SELECT version FROM customers WHERE id = :customer AND version = :customer_version FOR UPDATE;
