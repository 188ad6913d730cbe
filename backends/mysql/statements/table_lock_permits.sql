-- # The permits that differ from the default. The row of name '' and mode 2, if there is one,
-- # says how often a waiter is overtaken: no column is added, because spaces and rights of
-- # older versions have this table already.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_lock_permits (
  name VARBINARY(255) NOT NULL,
  mode TINYINT NOT NULL COMMENT '0 read, 1 write, 2 (of the empty name) how often a waiter is overtaken',
  permits BIGINT NOT NULL,
  PRIMARY KEY (name, mode)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
