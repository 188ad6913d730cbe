# Part of scripts/server: shared by MariaDB and MySQL. The kind defines:
#   exec_mysqld      becomes the server program with these arguments
#   data_template    prints the folder that keeps a new server's data, for the next one
#   initialise_data  fills $dir/data; only root@localhost needs no password there
#   server_options   further options for the running server, one per line

# The user that the server runs as, if this is root.
server_user() {
  if id mysql >/dev/null 2>&1; then echo mysql; else echo nobody; fi
}

server_create() {
  local user
  user=$(server_user)
  mkdir "$dir/data" "$dir/tmp"
  make_certificates
  give_to "$user" "$dir"/{data,tmp,socket,server.log,tls/server.key}
  server_data
  # The server reads it when it starts; from the second start on it changes nothing.
  cat >"$dir/users.sql" <<SQL
CREATE USER IF NOT EXISTS lockset_admin@'%' IDENTIFIED BY '$(cat "$dir/password")';
GRANT ALL PRIVILEGES ON *.* TO lockset_admin@'%' WITH GRANT OPTION;
CREATE DATABASE IF NOT EXISTS lockset CHARACTER SET utf8mb4;
DROP USER IF EXISTS root@localhost, root@'127.0.0.1', root@'::1';
SQL
  give_to "$user" "$dir/users.sql"
  chmod 600 "$dir/users.sql"
  server_port_changed
}

# Initialising takes seconds, copying does not: the first result is kept. The server makes everything
# individual at its first start.
server_data() {
  local template
  template=$(data_template)
  if [ -r "$template/ibdata1" ]; then
    cp -r "$template/." "$dir/data"
    give_to "$(server_user)" "$dir/data"
    return 0
  fi
  initialise_data >>"$dir/server.log" 2>&1 || {
    tail -n 5 "$dir/server.log" >&2
    fail "The data folder of $kind could not be initialised; the end of the log stands above."
  }
  # It is only to be quick: without room for it, or with another one there meanwhile, all is well.
  if mkdir -p "$(dirname "$template")" && cp -r "$dir/data" "$template.$$"; then
    rm -f "$template.$$/auto.cnf" "$template.$$"/*.pem
    mv -T "$template.$$" "$template" || true
  fi 2>/dev/null
  rm -rf "$template.$$"
}

server_port_changed() {
  echo "mysql://lockset_admin:$(cat "$dir/password")@127.0.0.1:$(cat "$dir/port")/lockset" \
    >"$dir/url"
}

# The log shows when it answers.
server_start() {
  local from options news began=$SECONDS
  from=$(($(wc -c <"$dir/server.log") + 1))
  mapfile -t options < <(server_options)
  rm -f "$dir"/socket/*
  launch "${options[@]}"
  while :; do
    news=$(tail -c "+$from" "$dir/server.log")
    case "$news" in
      *'ready for connections'*) return 0 ;;
      *Aborting*) return 1 ;;
    esac
    alive "$launched" || return 1
    [ $((SECONDS - began)) -le 120 ] || return 1
    doze 0.02
  done
}

# Becomes the server.
server_serve() {
  local others=() more
  read -r -d '' -a more <"$dir/extra.conf" || true
  [ "$(id -u)" -ne 0 ] || others=(--user="$(server_user)")
  # In a shared tmpdir, MariaDB removes the temporary tables of other servers when it starts.
  exec_mysqld --datadir="$dir/data" --tmpdir="$dir/tmp" --socket="$dir/socket/mysqld.sock" \
    --pid-file="$dir/data/server.pid" --bind-address=127.0.0.1 --port="$(cat "$dir/port")" \
    --max-connections=300 --skip-name-resolve --init-file="$dir/users.sql" \
    --ssl-ca="$dir/ca.pem" --ssl-cert="$dir/tls/server.pem" --ssl-key="$dir/tls/server.key" \
    "${others[@]}" "$@" "${more[@]}"
}

server_stop() { end_all TERM 120; }

server_pids() {
  local pid
  for pid in $(pgrep -f "^[^ ]*(mariadbd|mysqld|ld-linux[^ ]*) .*--datadir=$dir/data "); do
    ! alive "$pid" || echo "$pid"
  done
}

server_removed() { :; }
