-- What was removed comes back with a version that nobody has seen. One row: done.
UPDATE invoices SET amount = :amount, removed = 0, version = version + 1
WHERE id = :id AND removed = 1;
