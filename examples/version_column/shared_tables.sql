-- One version for all rows of an aggregate: a change of any of them changes it.
CREATE TABLE versions (aggregate BIGINT PRIMARY KEY, version BIGINT NOT NULL);
CREATE TABLE addresses (
  id BIGINT PRIMARY KEY, aggregate BIGINT NOT NULL REFERENCES versions (aggregate),
  city VARCHAR(100) NOT NULL);
