-- # With strategy=session: the clients that are to be asked for their holds. A client lives while
-- # the user-level lock of its name is held.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_session_clients (
  name VARBINARY(40) NOT NULL PRIMARY KEY,
  answered BIGINT NOT NULL COMMENT 'the last request that it has answered'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
