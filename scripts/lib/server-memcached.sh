# Part of scripts/server: Debian's memcached. It keeps nothing across a stop.

server_unavailable() {
  if ! command -v memcached >/dev/null; then
    echo 'memcached is not installed: install the Debian package memcached.'
  else
    return 1
  fi
}

server_install() { install_missing memcached; }

server_create() {
  mkdir "$dir/data"
  server_port_changed
}

server_port_changed() { echo "memcached://127.0.0.1:$(cat "$dir/port")" >"$dir/url"; }

# It listens before it says so, and says so only with -vv. A connection that is accepted is enough:
# its answer waits until the server is ready.
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

# Becomes the server. Root's has to give up its rights.
server_serve() {
  local clock options
  mapfile -t clock < <(with_clock)
  read -r -d '' -a options <"$dir/extra.conf" || true
  [ "$(id -u)" -ne 0 ] || options+=(-u nobody)
  cd "$dir/data"
  exec "${clock[@]}" memcached -l 127.0.0.1 -p "$(cat "$dir/port")" "${options[@]}"
}

server_stop() { end_all TERM 60; }

server_pids() { pids_in memcached "$dir/data"; }

server_removed() { :; }
