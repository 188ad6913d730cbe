-- # The permits that differ from the default.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_lock_permits (
  name VARBINARY(255) NOT NULL,
  mode TINYINT NOT NULL COMMENT '0 read, 1 write',
  permits BIGINT NOT NULL,
  PRIMARY KEY (name, mode)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
