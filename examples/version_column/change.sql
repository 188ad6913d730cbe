-- One row changed: done. No row: somebody was quicker, or it is gone. Read again and decide anew.
UPDATE invoices SET amount = :amount, version = version + 1
WHERE id = :id AND version = :version AND removed = 0;
