#!/usr/bin/env bash
# A shell job that writes to a PostgreSQL table, which refuses stale holders. docs/fencing.md
#
#   lockset run --write prices -- ./psql_job.sh DATABASE-URL PRICE
#
# The table: CREATE TABLE prices (id INT PRIMARY KEY, price INT, fence BIGINT NOT NULL DEFAULT 0)
set -euo pipefail
database=${1:?usage: psql_job.sh DATABASE-URL PRICE} price=${2:?usage: psql_job.sh DATABASE-URL PRICE}

# If no row has a fence that lets us in, \gset fails and psql ends: nothing is committed.
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set "stamp=${LOCKSET_STAMP:?run it under lockset run}" \
  --set "price=$price" "$database" <<'SQL'
BEGIN;
UPDATE prices SET price = :price, fence = :stamp
WHERE id = 1 AND fence <= :stamp RETURNING 1 AS done \gset
COMMIT;
SQL
