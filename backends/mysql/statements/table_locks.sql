-- # The holds. Names are VARBINARY, so that they compare as bytes. The primary key begins
-- # with the name: a look at a name reads one short range of the table itself, where rows
-- # deleted a moment ago are skipped at little cost. With a secondary index each of them
-- # would have to be looked up in the table first (measured: it halved the throughput).
-- #
-- # The lease of a hold is in the row of its first name, item 0, with the owner and the
-- # token; the rows of the other names say in lease_at where that is.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_locks (
  name VARBINARY(255) NOT NULL,
  stamp BIGINT NOT NULL AUTO_INCREMENT,
  item SMALLINT NOT NULL COMMENT 'place in the set; item 0 has the lease',
  mode TINYINT NOT NULL COMMENT '0 read, 1 write',
  lease_at VARBINARY(255) NULL COMMENT 'item > 0: name of item 0',
  items SMALLINT NULL,
  app VARBINARY(255) NULL COMMENT 'application id',
  instance VARBINARY(255) NULL,
  epoch BIGINT NULL,
  label VARBINARY(1024) NULL,
  token BINARY(16) NULL,
  created BIGINT NULL COMMENT 'microseconds since 1970, UTC',
  expires BIGINT NULL COMMENT 'microseconds since 1970, UTC; NULL at item 0: never',
  PRIMARY KEY (name, stamp),
  KEY by_stamp (stamp, item)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
