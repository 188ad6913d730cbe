-- Keep the version with what you show or compute.
SELECT amount, version FROM invoices WHERE id = :id AND removed = 0;
