-- # The tables of a lock space.
-- #
-- # Names are BLOBs, so that they compare as bytes. There are few indexes, because every
-- # page that a grant touches is written and checksummed. Rare calls scan instead (resolve
-- # by token, reclaim by application).

CREATE TABLE space(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  config_version INTEGER NOT NULL,
  last_stamp INTEGER NOT NULL,
  stamp_base INTEGER NOT NULL,
  max_lease_us INTEGER NOT NULL,
  migration_phase INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  max_overtakes INTEGER NOT NULL,
  -- No commit that may be lost has given a stamp above it (space_row.h).
  stamp_ceiling INTEGER NOT NULL
);
CREATE TABLE holds(
  stamp INTEGER PRIMARY KEY,
  token BLOB NOT NULL,
  app TEXT NOT NULL,
  instance TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  label TEXT NOT NULL,
  since_wall_us INTEGER NOT NULL,
  lease_us INTEGER NOT NULL,
  expires_boot_us INTEGER,
  expires_wall_us INTEGER,
  items BLOB NOT NULL,
  -- The open store with which it ends (liveness.h). NULL: only its lease ends it.
  life_file INTEGER,
  life_byte INTEGER
);
CREATE TABLE hold_names(
  name BLOB NOT NULL,
  stamp INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  PRIMARY KEY (name, stamp)
) WITHOUT ROWID;
CREATE TABLE permits(
  name BLOB PRIMARY KEY,
  reads INTEGER,
  writes INTEGER
) WITHOUT ROWID;
CREATE TABLE epochs(
  app TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE waiters(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  instance TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  label TEXT NOT NULL,
  since_wall_us INTEGER NOT NULL,
  expires_boot_us INTEGER NOT NULL,
  woken_boot_us INTEGER,
  items BLOB NOT NULL,
  overtaken INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE waiter_names(
  name BLOB NOT NULL,
  id INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  PRIMARY KEY (name, id)
) WITHOUT ROWID;
