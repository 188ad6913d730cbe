# Part of scripts/server: Debian's PostgreSQL. It refuses to run as root.

server_user=postgres

# The newest installed version; Debian keeps its programs out of the PATH.
server_bin() {
  local bin
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  [ -z "$bin" ] || [ ! -x "$bin/initdb" ] || echo "$bin"
}

server_unavailable() {
  if [ -z "$(server_bin)" ]; then
    echo 'PostgreSQL is not installed: install the Debian package postgresql.'
  elif ! command -v openssl >/dev/null; then
    echo 'openssl is not installed: install the Debian package openssl.'
  else
    return 1
  fi
}

server_install() { install_missing postgresql openssl; }

server_create() {
  local bin
  bin=$(server_bin)
  mkdir "$dir/data"
  make_certificates
  give_to "$server_user" "$dir"/{data,socket,password,server.log,tls/server.key}
  run_as "$server_user" "$bin/initdb" --no-sync --pgdata="$dir/data" --encoding=UTF8 \
    --locale=C.UTF-8 --username=lockset_admin --auth=scram-sha-256 \
    --pwfile="$dir/password" >>"$dir/server.log" 2>&1 ||
    fail "initdb failed: $(tail -n 1 "$dir/server.log")"
  # Shared memory in the data folder is removed with it, even after a kill.
  cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir/socket'
max_connections = 300
dynamic_shared_memory_type = mmap
ssl = on
ssl_cert_file = '$dir/tls/server.pem'
ssl_key_file = '$dir/tls/server.key'
log_line_prefix = '%m [%p] %u@%d '
$([ "${LOCKSET_SERVER_FSYNC:-on}" != off ] || echo 'fsync = off')
CONF
  echo 'CREATE DATABASE lockset;' |
    run_as "$server_user" "$bin/postgres" --single -F -D "$dir/data" postgres \
      >>"$dir/server.log" 2>&1 || fail "The database could not be made: see $dir/server.log."
  server_port_changed
}

server_port_changed() {
  local port
  port=$(cat "$dir/port")
  sed -i '/^port = /d' "$dir/data/postgresql.conf"
  echo "port = $port" >>"$dir/data/postgresql.conf"
  echo "postgresql://lockset_admin:$(cat "$dir/password")@127.0.0.1:$port/lockset" >"$dir/url"
}

# No process lives (start has checked), so a lock file is stale. The server could not know: it
# counts a killed process that nobody has waited for yet, as in a container.
server_start() {
  local clock
  server_removed
  rm -f "$dir/data/postmaster.pid" "$dir"/socket/.s.*
  mapfile -t clock < <(with_clock)
  run_as "$server_user" "${clock[@]}" "$(server_bin)/pg_ctl" start --pgdata="$dir/data" \
    --silent --wait --timeout=120 --log="$dir/server.log" >/dev/null 2>&1 </dev/null
}

server_stop() {
  signal_all CONT
  run_as "$server_user" "$(server_bin)/pg_ctl" stop --pgdata="$dir/data" --silent --wait \
    --timeout=120 --mode=fast >>"$dir/server.log" 2>&1
}

# The postmaster's children outlive it for a moment when it is killed; their working folder still
# identifies them.
server_pids() { pids_in postgres "$dir/data"; }

# What is left of a killed server that was never started again.
server_removed() {
  local segment
  segment=$(sed -n '7s/.* //p' "$dir/data/postmaster.pid" 2>/dev/null) || segment=
  [ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null || true
}

# A base backup of the primary, over its own port; the log then comes over `through`, which may be a
# proxy's. The accounts are the primary's.
server_follow() {
  local primary=$1 through=$2
  rm -rf "$dir/data"
  mkdir "$dir/data"
  chmod 700 "$dir/data"
  give_to "$server_user" "$dir/data"
  PGPASSWORD=$(cat "$primary/password") run_as "$server_user" "$(server_bin)/pg_basebackup" \
    --pgdata="$dir/data" --host=127.0.0.1 --port="$(cat "$primary/port")" --username=lockset_admin \
    --checkpoint=fast --no-sync >>"$dir/server.log" 2>&1 ||
    fail "pg_basebackup failed: $(tail -n 1 "$dir/server.log")"
  cat "$primary/password" >"$dir/password"
  cat >>"$dir/data/postgresql.conf" <<CONF
unix_socket_directories = '$dir/socket'
ssl_cert_file = '$dir/tls/server.pem'
ssl_key_file = '$dir/tls/server.key'
primary_conninfo = 'host=127.0.0.1 port=$through user=lockset_admin password=$(cat "$dir/password") application_name=standby'
CONF
  run_as "$server_user" touch "$dir/data/standby.signal"
  server_port_changed
}
