-- # With strategy=session: what the clients are asked, the last requests.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_session_requests (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  stamp BIGINT NOT NULL COMMENT 'the hold to end; 0: only to list all',
  app VARBINARY(255) COMMENT 'if it is of this application; NULL: of any',
  ended TINYINT NOT NULL COMMENT 'a client has ended it for this request'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
