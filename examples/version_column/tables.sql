-- Each row counts its changes. The statements run on PostgreSQL, MySQL, MariaDB and SQLite; give
-- the values of :id, :version, ... as parameters. docs/patterns.md says when this is enough.
CREATE TABLE customers (
  id BIGINT PRIMARY KEY, discount INTEGER NOT NULL, version BIGINT NOT NULL);
CREATE TABLE invoices (
  id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, amount INTEGER NOT NULL,
  removed INTEGER NOT NULL DEFAULT 0,  -- 1: as if it were not there
  version BIGINT NOT NULL);
