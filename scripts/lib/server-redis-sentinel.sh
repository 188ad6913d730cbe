# Part of scripts/server: one Redis Sentinel. It writes what it learns into its configuration, so the
# extra lines are read only when it is created.

server_unavailable() {
  if ! command -v redis-server >/dev/null; then
    echo 'Redis is not installed: install the Debian package redis-server.'
  else
    return 1
  fi
}

server_install() { install_missing redis-server; }

server_create() {
  mkdir "$dir/data"
  { printf '%s\n' "dir $dir/data" 'bind 127.0.0.1' && cat "$dir/extra.conf"; } >"$dir/sentinel.conf"
  chmod 600 "$dir/sentinel.conf"
  server_port_changed
}

server_port_changed() { echo "redis://127.0.0.1:$(cat "$dir/port")/0" >"$dir/url"; }

# It listens before it says so.
server_start() {
  local began=$SECONDS port
  port=$(cat "$dir/port")
  launch
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    alive "$launched" || return 1
    [ $((SECONDS - began)) -le 120 ] || return 1
    doze 0.005
  done
  # Another program may have the port.
  doze 0.05
  alive "$launched"
}

# Becomes the server.
server_serve() {
  local clock
  mapfile -t clock < <(with_clock)
  cd "$dir/data"
  exec "${clock[@]}" redis-server "$dir/sentinel.conf" --sentinel \
    --port "$(cat "$dir/port")"
}

server_stop() { end_all TERM 60; }

server_pids() { pids_in redis-server "$dir/data"; }

server_removed() { :; }
