-- # With strategy=session: a row per hold and name, as its client last listed it. It decides
-- # nothing: the hold is the user-level lock.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_session_holds (
  stamp BIGINT NOT NULL,
  name VARBINARY(255) NOT NULL,
  mode TINYINT NOT NULL,
  lock_name VARBINARY(64) NOT NULL COMMENT 'the user-level lock',
  session BIGINT NOT NULL COMMENT 'the connection that holds it',
  client VARBINARY(40) NOT NULL,
  since BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  app VARBINARY(255) NOT NULL,
  instance VARBINARY(255) NOT NULL,
  epoch BIGINT NOT NULL,
  label VARBINARY(1024) NOT NULL,
  PRIMARY KEY (stamp, name),
  KEY client (client),
  KEY lock_name (lock_name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
