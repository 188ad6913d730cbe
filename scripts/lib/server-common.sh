# Parts of scripts/server that don't depend on the kind of server. A kind defines:
#   server_unavailable   prints why there can be none here; fails if there can
#   server_install       fetches the server's programs
#   server_create        makes $dir/data and $dir/url
#   server_start         starts it, waits until it answers; fails if it ends before that
#   server_stop          orderly shutdown, waits for its end
#   server_pids          all its living processes
#   server_port_changed  $dir/port has changed
#   server_removed       frees what is not in $dir
# and, unless it is only "port":
#   server_ports         names of the files in $dir for the ports that it needs

fail() {
  echo "scripts/server: $*" >&2
  exit 1
}

# doze SECONDS: sleeps without a new process, which would cost more than what is waited for. Nothing
# is ever written to this pipe.
exec {never}<> <(:)
doze() { read -r -t "$1" -u "$never" || true; }

# run_as USER COMMAND...: as that user if this is root, else as the present user.
run_as() {
  local user=$1
  shift
  if [ "$(id -u)" -ne 0 ]; then
    "$@"
  else
    setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "$@"
  fi
}

# What precedes the server's program: its environment, and a clock that can be stepped.
with_clock() {
  [ ! -e "$dir/clock" ] ||
    printf '%s\n' env "LD_PRELOAD=$dir/clock.so" "LOCKSET_CLOCK_FILE=$dir/clock"
}

# launch ARGUMENT...: starts `serve` with them. $launched is the process that becomes the server.
launch() {
  setsid "$script" "$kind" serve "$dir" "$@" </dev/null >>"$dir/server.log" 2>&1 &
  launched=$!
}

# give_to USER PATH...: the same for ownership.
give_to() {
  local user=$1
  shift
  [ "$(id -u)" -ne 0 ] || chown -R "$user" "$@"
}

# ca.pem and wrong-ca.pem, and tls/server.{key,pem}, signed by the first one.
make_certificates() {
  local name subject
  mkdir "$dir/tls"
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
  # The server's user can read only its own key.
  chmod 711 "$dir/tls"
  chmod 644 "$dir"/*.pem "$dir/tls/server.pem"
}

# A claim keeps a stopped server's port from being chosen for another server.
port_claims() {
  echo "${TMPDIR:-/tmp}/lockset-server-ports-$(id -u)"
}

server_ports() { echo port; }

# Claims other ports than before, if there were any.
claim_ports() {
  local name
  release_ports
  for name in $(server_ports); do claim_port "$name"; done
}

# A free port below those that the kernel assigns; in $dir/$1.
claim_port() {
  local claims port attempt owner
  claims=$(port_claims)
  mkdir -p "$claims"
  for attempt in {1..200}; do
    port=$((10000 + (RANDOM * 32768 + RANDOM) % 20000))
    owner=$(cat "$claims/$port" 2>/dev/null) || owner=
    [ -z "$owner" ] || [ -e "$owner" ] || rm -f "$claims/$port"
    (set -o noclobber && echo "$dir" >"$claims/$port") 2>/dev/null || continue
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port" >"$dir/$1"
      return 0
    fi
    rm -f "$claims/$port"
  done
  fail 'No free port found.'
}

release_ports() {
  local name
  for name in $(server_ports); do
    [ ! -e "$dir/$name" ] || rm -f "$(port_claims)/$(cat "$dir/$name")"
  done
}

# signal SIGNAL PID...
signal() {
  local name=$1
  shift
  [ $# -eq 0 ] || kill -"$name" "$@" 2>/dev/null || true
}

signal_all() { signal "$1" $(server_pids); }

# pause PID...: returns when none of their threads runs any more. On a busy machine some continue to
# answer for a while after the signal was sent.
pause() {
  local pid until=$((SECONDS + 30))
  signal STOP "$@"
  for pid in "$@"; do
    until all_stopped "$pid"; do
      [ "$SECONDS" -lt "$until" ] || fail "The server in $dir does not pause."
      doze 0.005
    done
  done
}

# A server process may have started another one while it was being stopped.
pause_all() {
  local pids=''
  until [ "$(server_pids)" = "$pids" ]; do
    pids=$(server_pids)
    pause $pids
  done
}

# All threads of this process have stopped, or it has ended.
all_stopped() {
  ! cat "/proc/$1/task"/*/status 2>/dev/null | grep '^State:' | grep -qv '[TtZX] ('
}

# end_all SIGNAL SECONDS: an orderly end, even of a paused server. Repeats the signal each second:
# Redis forgets it while it writes its first append-only file.
end_all() {
  local pid pids
  pids=$(server_pids)
  signal CONT $pids
  signal "$1" $pids
  for pid in $pids; do
    wait_for_end "$pid" "$2" "$1" || fail "The server in $dir does not end."
  done
}

# pids_in PROGRAM FOLDER: the living processes of that name whose working folder that is.
pids_in() {
  local pid
  for pid in $(pgrep -x "$1"); do
    if [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$2" ] && alive "$pid"; then
      echo "$pid"
    fi
  done
}

# Kills all at once: none can start another one meanwhile, and none is left when it returns.
kill_all() {
  signal_all STOP
  kill_surely $(server_pids)
}

# kill_surely PID...: returns when their ports are free.
kill_surely() {
  local pid
  signal KILL "$@"
  for pid in "$@"; do
    wait_for_end "$pid" 30
  done
}

# A zombie has ended; but its other threads may still run, and hold the port.
alive() {
  local state tasks
  state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
  tasks=("/proc/$1/task"/*)
  case "$state" in
    '' | X) return 1 ;;
    Z) [ ${#tasks[@]} -gt 1 ] ;;
  esac
}

# wait_for_end PID SECONDS [SIGNAL]: repeats the signal each second.
wait_for_end() {
  local until=$((SECONDS + $2)) asked=$SECONDS
  while alive "$1"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    if [ -n "${3:-}" ] && [ "$SECONDS" -gt "$asked" ]; then
      asked=$SECONDS
      signal "$3" "$1"
    fi
    doze 0.02
  done
}
