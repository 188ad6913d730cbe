# Common functions for the command's tests on private servers. Source it after lib.sh.
# shellcheck shell=bash
# shellcheck source=tests/cli/private_server.sh
. "$(dirname "${BASH_SOURCE[0]}")/private_server.sh"

# begin_server KIND: $admin_url, $secret, $port.
begin_server() {
  kind=$1
  need_server "$kind"
  run_server "$kind"
  secret=$(cat "$server_dir/password")
  port=$(cat "$server_dir/port")
}

# refused CODE PART COMMAND...: one line that contains PART, and never the password.
refused() {
  local code=$1 part=$2
  shift 2
  exits "$code" "$@"
  one_line "$*"
  contains "$*" "$err" "$part"
  lacks "$*" "$err$out" "$secret"
}
at() { env "LOCKSET_URL=$1" "$lockset" "${@:2}"; }

# A space that nobody made.
missing_space() {
  refused 78 'lockset init' at "$admin_url?space=missing" status
  refused 78 'lockset init' at "$admin_url?space=missing" run --write x -- touch "$work/ran"
  exits 78 at "$admin_url?space=missing" doctor
  contains 'a missing space' "$out" 'lockset init'
  false_that 'a command ran without a space' test -e "$work/ran"
}

# init reports success, without the password; it is harmless to repeat.
make_space() {
  for again in '' ' again'; do
    exits 0 at "$admin_url" init
    contains "init$again" "$out" 'is ready'
    lacks "init$again" "$out" "$secret"
    same "init$again: standard error" '' "$err"
  done
  exits 0 at "$admin_url" status
  same 'an empty space' 'nothing is held' "$out"
  # Without a working space, everything else would only wait and fail.
  [ "$failures" -eq 0 ] || finish
  exits 0 at "$admin_url" doctor
  lacks 'doctor' "$out$err" "$secret"
  contains 'doctor' "$out" 'round trip'
  contains 'doctor' "$out" 'programs may rely on the store'
  same 'doctor on encryption' warning "$(printf '%s\n' "$out" |
    sed -nE 's/^(ok|warning|unsafe) *encryption  .*/\1/p')"
  contains 'doctor on waiting' "$out" 'waiters are woken'
  exits 0 at "$admin_url" doctor --json
  contains 'doctor for programs' "$out" '"findings"'
  lacks 'doctor for programs' "$out" "$secret"
  exits 0 at "$admin_url" metrics
  same 'metrics' 1 "$(printf '%s\n' "$out" | sed -n 's/^lockset_up{.*} //p')"
  lacks 'metrics' "$out" "$secret"
}

# Typos that every store answers in the same way.
typos() {
  refused 78 '"spcae"' at "$admin_url?spcae=x" status
  contains 'an unknown parameter: the known ones' "$err" space
  refused 78 'space' at "$admin_url?space=Bad-Name" status
  refused 78 '"tomorrow"' at "$admin_url?connect_timeout=tomorrow" status
  refused 78 'pool' at "$admin_url?pool=0" status
  refused 69 'no-such-host.invalid' at "${admin_url/127.0.0.1/no-such-host.invalid}" status
  refused 69 '127.0.0.1:1' at "${admin_url/127.0.0.1:$port/127.0.0.1:1}" status
}

# shown_nowhere URL: no process shows the password while a job runs and another one waits: neither
# in its arguments nor in its output. The URL contains no password.
shown_nowhere() {
  start env "LOCKSET_URL=$1" LOCKSET_PASSWORD_FILE=password "$lockset" run -v --write secret -- \
    sh -c 'touch job; while [ ! -e over ]; do sleep 0.02; done' 2>holder.err
  holder=$pid
  soon test -e job
  start env "LOCKSET_URL=$admin_url" "$lockset" run -v --write secret -- true 2>waiter.err
  waiter=$pid
  soon at "$admin_url" status secret >status.out
  cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' >arguments
  contains 'the arguments of the job' "$(cat arguments)" '--write secret'
  lacks 'arguments of all processes' "$(cat arguments)" "$secret"
  touch over
  pid=$holder
  ends 0
  pid=$waiter
  ends 0
  lacks 'what the holder and the waiter said' "$(cat holder.err waiter.err)" "$secret"
}

# cannot_observe URL: one line says so, and nothing runs without its condition.
cannot_observe() {
  seen=seen-1,x=1
  refused 64 'keeps no traces' at "$1" observe x
  refused 64 'keeps no traces' at "$1" validate "$seen"
  refused 64 'keeps no traces' at "$1" run --write x --unless-changed "$seen" -- touch "$work/ran"
  refused 64 'keeps no traces' at "$1" run --write x --unless-changed "$seen" -n -- touch "$work/ran"
  false_that 'a command ran without its condition' test -e "$work/ran"
}

# story SPACE PARAMETERS NAME [ARGUMENT]...: a test of every store, in a separate space.
story() {
  local url="$admin_url?space=$1${2:+&$2}" name=$3
  shift 3
  exits 0 at "$url" init
  LOCKSET_TEST_URL=$url bash "$tests/$name.sh" "$lockset" "$@" 2>story.err ||
    fail "$name in ${url##*\?}" "$(cat story.err)"
}

# A command that waits for its locks also waits for their store, from the beginning. The server is
# down; opener_is_served runs when it is back.
openers_wait() {
  start env "LOCKSET_URL=$crash" "$lockset" run -v --patience 5m --write z -- touch opened \
    2>opener.err
  opener=$pid
  soon grep -q retried opener.err
  # SIGTERM ends that.
  start env "LOCKSET_URL=$crash" "$lockset" run -v --patience 5m --write z -- touch "$work/ran" \
    2>ended.err
  soon grep -q retried ended.err
  kill -TERM "$pid"
  ends 143
  # With -w it waits no longer than that.
  refused 69 "127.0.0.1:$port" at "$crash" run --write z -w 300ms -- touch "$work/ran"
}
opener_is_served() {
  pid=$opener
  ends 0
  true_that 'the job ran when the server was there' test -e opened
  lacks 'what the opener said' "$(cat opener.err ended.err)" "$secret"
}

# A server is killed during a job and comes back: the job never notices.
killed_and_back() {
  exits 0 at "$admin_url?space=crash" init
  crash=$admin_url?space=crash
  start env "LOCKSET_URL=$crash" "$lockset" run --write x --lease 60s -- \
    sh -c 'echo "$LOCKSET_STAMP" >stamp; while [ ! -e finish ]; do sleep 0.02; done'
  job=$pid
  soon filled stamp
  server kill
  begin=$(milliseconds)
  refused 69 "127.0.0.1:$port" at "$crash" run --write y -n -- touch "$work/ran"
  refused 69 "127.0.0.1:$port" at "$crash" status
  refused 69 "127.0.0.1:$port" at "$crash" observe y --patience 300ms
  refused 69 "127.0.0.1:$port" at "$crash" doctor
  true_that 'told soon' test $(($(milliseconds) - begin)) -lt 30000
  false_that 'a command ran without a server' test -e "$work/ran"
  openers_wait
  server start
  opener_is_served
  exits 75 at "$crash" run --write x -n -- true
  same 'held all the same' "$(cat stamp)" "$(LOCKSET_URL=$crash stamp_of x)"
  touch finish
  pid=$job
  ends 0
  exits 0 at "$crash" run --write x -n -- sh -c 'echo "$LOCKSET_STAMP"'
  true_that 'the next stamp is greater' test "$out" -gt "$(cat stamp)"
}

# If it stays away longer than the lease, the job is ended, and the code is 79.
away_too_long() {
  rm -f stamp
  start env "LOCKSET_URL=$crash" "$lockset" run --write x --lease 2s --io-timeout 500ms -- \
    sh -c 'echo "$LOCKSET_STAMP" >stamp; exec sleep 1000' 2>lost.err
  job=$pid
  soon filled stamp
  server pause
  pid=$job
  ends 79
  contains 'a lock that was lost' "$(cat lost.err)" 'lost the lock'
  lacks 'a lock that was lost' "$(cat lost.err)" "$secret"
  refused 69 "127.0.0.1:$port" at "$crash" status --io-timeout 500ms
  server resume
  exits 0 at "$crash" run --write x -w 20s -- true
  server stop
  refused 69 "127.0.0.1:$port" at "$crash" status
}
