-- # Holds that have ended, and whose holders may not know: they must not be registered again as
-- # lost ones. A row with until = 0 exists only inside a transaction.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_ended (
  stamp BIGINT NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL COMMENT 'until when this is kept; microseconds since 1970, UTC',
  KEY by_until (until)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 4'
