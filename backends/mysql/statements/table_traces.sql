-- # The last write of each name that somebody observed (semantics 27).
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_traces (
  name VARBINARY(255) NOT NULL PRIMARY KEY,
  last_write BIGINT NOT NULL COMMENT 'stamp of the last write grant, or drawn when this was made',
  label VARBINARY(1024) NOT NULL COMMENT 'of who was granted it; empty: not known',
  granted BIGINT NULL COMMENT 'microseconds since 1970, UTC; NULL: not known',
  observed BIGINT NOT NULL COMMENT 'when it was last observed, to a day',
  KEY by_observed (observed)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 3'
