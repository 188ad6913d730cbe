-- # Those who wait, in the order in which they came (id).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_waiters (
  id BIGINT NOT NULL AUTO_INCREMENT,
  listener VARBINARY(32) NOT NULL COMMENT 'the client that is told',
  ticket BIGINT NOT NULL COMMENT 'which of its waiters',
  app VARBINARY(255) NOT NULL COMMENT 'application id',
  instance VARBINARY(255) NOT NULL,
  epoch BIGINT NOT NULL,
  label VARBINARY(1024) NOT NULL,
  since BIGINT NOT NULL COMMENT 'microseconds since 1970, UTC',
  expires BIGINT NOT NULL COMMENT 'when it no longer counts, unless it was heard of',
  woken BIGINT NULL COMMENT 'when it was woken; NULL: it has come since',
  calls BIGINT NOT NULL COMMENT 'how often it was woken',
  overtaken BIGINT NOT NULL COMMENT 'how often others were granted a part of its set',
  PRIMARY KEY (id),
  KEY by_listener (listener)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 2'
