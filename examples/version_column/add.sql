-- A new row. The primary key refuses the second of two.
INSERT INTO invoices (id, customer, amount, version) VALUES (:id, :customer, :amount, 1);
