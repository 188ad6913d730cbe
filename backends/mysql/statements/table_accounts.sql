-- # The accounts to which `lockset init` gave a role: replacing a procedure removes the
-- # rights on it.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_accounts (
  user VARBINARY(255) NOT NULL,
  host VARBINARY(255) NOT NULL,
  operator TINYINT NOT NULL COMMENT '0 program, 1 operator',
  PRIMARY KEY (user, host)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 2'
