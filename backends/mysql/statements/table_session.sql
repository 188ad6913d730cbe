-- # With strategy=session: how stamps are drawn now. One row.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_session (
  id TINYINT NOT NULL PRIMARY KEY,
  identity VARBINARY(32) NOT NULL COMMENT 'part of the names of all user-level locks of the space',
  token VARBINARY(40) NOT NULL COMMENT 'whoever may grant: the lock of this name is held',
  stamp_offset BIGINT NOT NULL COMMENT 'from the counter of the server to a stamp',
  stamp_floor BIGINT NOT NULL COMMENT 'no stamp is greater than this and a little',
  readers INT NOT NULL COMMENT 'numbers of sessions that may hold a name for reading'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
