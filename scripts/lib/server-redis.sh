# Part of scripts/server: Debian's Redis. It runs as the user who starts it. Its answers are on disk
# (appendfsync always), so that they survive a kill.

server_unavailable() {
  if ! command -v redis-server >/dev/null; then
    echo 'Redis is not installed: install the Debian package redis-server.'
  elif ! command -v openssl >/dev/null; then
    echo 'openssl is not installed: install the Debian package openssl.'
  else
    return 1
  fi
}

server_install() { install_missing redis-server openssl; }

server_create() {
  local password sync=always
  password=$(cat "$dir/password")
  [ "${LOCKSET_SERVER_FSYNC:-on}" != off ] || sync=no
  mkdir "$dir/data"
  # The children that rewrite files run in the same folder: see server_pids.
  cat >"$dir/redis.conf" <<CONF
dir $dir/data
bind 127.0.0.1
unixsocket $dir/socket/redis.sock
unixsocketperm 777
requirepass $password
user lockset_admin on >$password ~* &* +@all
save ""
appendonly yes
appendfsync $sync
maxmemory-policy noeviction
CONF
  chmod 600 "$dir/redis.conf"
  server_port_changed
}

# Without a password, if the extra lines say so.
server_port_changed() {
  local password
  password=:$(cat "$dir/password")@
  ! grep -q '^requirepass ""$' "$dir/extra.conf" || password=
  echo "redis://${password}127.0.0.1:$(cat "$dir/port")/0" >"$dir/url"
}

# The log shows when it answers.
server_start() {
  local from began=$SECONDS
  from=$(($(wc -c <"$dir/server.log") + 1))
  rm -f "$dir"/socket/*
  launch
  until tail -c "+$from" "$dir/server.log" | grep -q 'Ready to accept connections'; do
    alive "$launched" || return 1
    ! tail -c "+$from" "$dir/server.log" | grep -qiE 'address already in use|FATAL CONFIG' || return 1
    [ $((SECONDS - began)) -le 120 ] || return 1
    doze 0.005
  done
}

# Becomes the server.
server_serve() {
  local clock
  mapfile -t clock < <(with_clock)
  cd "$dir/data"
  exec "${clock[@]}" redis-server "$dir/redis.conf" --port "$(cat "$dir/port")" \
    --include "$dir/extra.conf"
}

server_stop() { end_all TERM 60; }

# By their working folder: the title of a child that rewrites a file contains no folder.
server_pids() { pids_in redis-server "$dir/data"; }

server_removed() { :; }
