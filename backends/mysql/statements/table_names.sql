-- # A row for each name that was used lately: the row is what an acquire locks.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_names (
  name VARBINARY(255) NOT NULL PRIMARY KEY,
  low BIGINT NOT NULL COMMENT 'no hold on the name has a lower stamp',
  gen BIGINT UNSIGNED NOT NULL COMMENT 'counts the passages of strategy unique-index'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
