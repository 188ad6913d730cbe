-- # The configuration. This table is made last: a space without it is not complete.
-- #
-- # Filled in:
-- #   {space}: the prefix of the tables and procedures

CREATE TABLE IF NOT EXISTS {space}_space (
  id TINYINT NOT NULL PRIMARY KEY,
  schema_version INT NOT NULL,
  procedures VARBINARY(64) NOT NULL COMMENT 'which text of the procedures is installed',
  config_version BIGINT NOT NULL,
  stamp_base BIGINT NOT NULL,
  max_lease_us BIGINT NOT NULL,
  migration_phase BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1'
