# Parts of scripts/server that don't depend on the kind of server. A kind defines:
#   server_unavailable   prints why there can be none here; fails if there can
#   server_install       fetches the server's programs
#   server_create        makes $dir/data and $dir/url
#   server_start         starts it, waits until it answers; fails if it ends before
#   server_stop          orderly shutdown, waits for its end
#   server_pids          all its processes that live
#   server_port_changed  $dir/port is another one now
#   server_removed       frees what $dir does not hold

fail() {
  echo "scripts/server: $*" >&2
  exit 1
}

# run_as USER COMMAND...: as that user if this is root, else as oneself.
run_as() {
  local user=$1
  shift
  if [ "$(id -u)" -ne 0 ]; then
    "$@"
  else
    setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "$@"
  fi
}

# give_to USER PATH...: the same for ownership.
give_to() {
  local user=$1
  shift
  [ "$(id -u)" -ne 0 ] || chown -R "$user" "$@"
}

# ca.pem and wrong-ca.pem, and tls/server.{key,pem}, signed by the first.
make_certificates() {
  local name subject
  for name in ca wrong-ca; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
      -subj "/CN=Lockset test $name" -keyout "$dir/tls/$name.key" -out "$dir/$name.pem" \
      2>/dev/null
  done
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
    -keyout "$dir/tls/server.key" -out "$dir/tls/server.csr" 2>/dev/null
  openssl x509 -req -days 30 -in "$dir/tls/server.csr" -CA "$dir/ca.pem" \
    -CAkey "$dir/tls/ca.key" -CAcreateserial -out "$dir/tls/server.pem" \
    -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1') 2>/dev/null
  chmod 600 "$dir"/tls/*.key
  # The server's user reads its own key only.
  chmod 711 "$dir/tls"
  chmod 644 "$dir"/*.pem "$dir/tls/server.pem"
}

# Claims keep the port of a server that is stopped for a while from being chosen for another.
port_claims() {
  echo "${TMPDIR:-/tmp}/lockset-server-ports-$(id -u)"
}

# A free port below those that the kernel hands out by itself; in $dir/port.
claim_port() {
  local claims port attempt owner
  claims=$(port_claims)
  mkdir -p "$claims"
  release_port
  for attempt in {1..200}; do
    port=$((10000 + (RANDOM * 32768 + RANDOM) % 20000))
    owner=$(cat "$claims/$port" 2>/dev/null) || owner=
    [ -z "$owner" ] || [ -e "$owner" ] || rm -f "$claims/$port"
    (set -o noclobber && echo "$dir" >"$claims/$port") 2>/dev/null || continue
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port" >"$dir/port"
      return 0
    fi
    rm -f "$claims/$port"
  done
  fail 'No free port found.'
}

release_port() {
  [ ! -e "$dir/port" ] || rm -f "$(port_claims)/$(cat "$dir/port")"
}

signal_all() {
  local pids
  pids=$(server_pids)
  [ -z "$pids" ] || kill -"$1" $pids 2>/dev/null || true
}

# All at once and surely: none starts another one meanwhile, none is left when it returns.
kill_all() {
  local pid pids
  signal_all STOP
  pids=$(server_pids)
  [ -n "$pids" ] || return 0
  kill -KILL $pids 2>/dev/null || true
  for pid in $pids; do
    wait_for_end "$pid" 30
  done
}

# A zombie has ended; but its other threads may still be at it, and hold the port.
alive() {
  local state tasks
  state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
  tasks=("/proc/$1/task"/*)
  case "$state" in
    '' | X) return 1 ;;
    Z) [ ${#tasks[@]} -gt 1 ] ;;
  esac
}

# wait_for_end PID SECONDS
wait_for_end() {
  local until=$((SECONDS + $2))
  while alive "$1"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep 0.02
  done
}
