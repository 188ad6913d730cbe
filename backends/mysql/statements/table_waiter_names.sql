-- # What they wait for.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_waiter_names (
  name VARBINARY(255) NOT NULL,
  id BIGINT NOT NULL,
  mode TINYINT NOT NULL COMMENT '0 read, 1 write',
  PRIMARY KEY (name, id),
  KEY by_id (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 2'
