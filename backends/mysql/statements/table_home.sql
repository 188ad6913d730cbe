-- # On which server the space was last used, and until when nothing is granted (lost.sql). One row.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_home (
  id TINYINT NOT NULL PRIMARY KEY,
  home VARBINARY(96) NOT NULL COMMENT 'the run of a server on which grants are allowed; or empty',
  identity VARBINARY(160) NOT NULL COMMENT 'the server, and when this table was made there',
  since BIGINT NOT NULL COMMENT 'since when it has this identity; microseconds since 1970, UTC',
  lost BIGINT NULL COMMENT 'when the last quarantine began',
  quarantine_until BIGINT NOT NULL,
  longest BIGINT NOT NULL COMMENT 'no lease that is longer than the longest one ends later'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 4'
