# Common functions of the command's tests. Source it; end the test with `finish`.
# shellcheck shell=bash
set -u
lockset=${1:?usage: test.sh PATH-OF-LOCKSET}
[ -x "$lockset" ] || { echo "no executable $lockset" >&2; exit 2; }

# The space for the test, if it is not a SQLite file (server.sh).
given_url=${LOCKSET_TEST_URL:-} required_names=${LOCKSET_TEST_REQUIRE:-}
for variable in "${!LOCKSET_@}"; do unset "$variable"; done
# What scripts/server keeps stays where it is.
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache}
work=$(mktemp -d "${TMPDIR:-/tmp}/lockset-cli.XXXXXX")
export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config TZ=UTC
mkdir -p "$HOME" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME/lockset"
cd "$work" || exit 2
# A separate file for each test, whatever the default path of the backend is.
export LOCKSET_URL=${given_url:-sqlite:$work/locks.db}

failures=0
started=()  # process ids of everything that `start` started

clean_up() {
  local pid
  for pid in "${started[@]:+${started[@]}}"; do
    kill -CONT "$pid" 2>/dev/null
    kill -KILL "$pid" 2>/dev/null
  done
  wait 2>/dev/null
  cd / && rm -rf "$work"
}
trap clean_up EXIT

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s (line %s)\n' "$1" "${BASH_LINENO[1]}" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
}

# same WHAT EXPECTED ACTUAL
same() { [ "$2" = "$3" ] || fail "$1" "expected: $2" "actual:   $3"; }
# contains WHAT TEXT PART
contains() { case $2 in *"$3"*) ;; *) fail "$1" "text: $2" "has no: $3" ;; esac; }
lacks() { case $2 in *"$3"*) fail "$1" "text: $2" "has: $3" ;; esac; }
# true_that WHAT COMMAND...
true_that() { local what=$1; shift; "$@" || fail "$what" "failed: $*"; }
false_that() { local what=$1; shift; ! "$@" || fail "$what" "succeeded: $*"; }

# exits CODE COMMAND...: runs it; $out and $err are its output.
out='' err=''
exits() {
  local expected=$1 code=0
  shift
  "$@" >"$work/out" 2>"$work/err" || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
  [ "$code" -eq "$expected" ] || fail "exit code of: $*" "expected: $expected" "actual: $code" "stderr: $err"
}
# one_line WHAT: $err is one line, and it is lockset's.
one_line() {
  same "$1: lines on standard error" 1 "$(printf '%s\n' "$err" | wc -l)"
  contains "$1" "$err" "lockset: "
}

# start COMMAND...: runs it in the background; $pid is its id.
pid=0
start() {
  "$@" &
  pid=$!
  started+=("$pid")
}
# ends CODE: waits for $pid.
ends() {
  local code=0
  wait "$pid" || code=$?
  [ "$code" -eq "$1" ] || fail "exit code of the job in the background" "expected: $1" "actual: $code"
  # From now on another process may get its number.
  local each rest=()
  for each in "${started[@]}"; do [ "$each" = "$pid" ] || rest+=("$each"); done
  started=("${rest[@]:+${rest[@]}}")
}

# doze SECONDS: sleeps without a new process. Nothing is ever written to this pipe.
exec {never}<> <(:)
doze() { read -r -t "$1" -u "$never" || true; }

# soon COMMAND...: polls until it succeeds, for at most a minute; first often, then ten times a second.
soon() {
  local end=$((SECONDS + 60)) pauses=(0.01 0.02 0.02 0.05 0.05) i=0
  until "$@"; do
    if [ "$SECONDS" -ge "$end" ]; then
      fail "did not become true: $*"
      return 1
    fi
    doze "${pauses[i++]:-0.1}"
  done
}

# held NAME, free NAME: both are false if the store did not answer.
held() { "$lockset" status "$1" --json >"$work/status" && grep -q '"stamp"' "$work/status"; }
free() { "$lockset" status "$1" --json >"$work/status" && ! grep -q '"stamp"' "$work/status"; }
waiting() {
  "$lockset" status "$1" --json >"$work/status" &&
    sed -n '/"waiters"/,$p' "$work/status" | grep -q '"name"'
}
# Some stores list no waiters; doctor counts them if the store does.
lists_waiters() { "$lockset" doctor | grep -q '^ok  *holds .* waiter'; }
# A zombie counts as gone: if process 1 does not reap it, it stays.
gone() { case $(sed "s/.*) //" "/proc/$1/stat" 2>/dev/null) in "" | Z*) ;; *) return 1 ;; esac; }
filled() { [ -s "$1" ]; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
stamp_of() { "$lockset" status "$1" --json | sed -n 's/.*"stamp": \([0-9]*\).*/\1/p' | head -n 1; }

# hold NAME: another process holds it until release_it.
release_file=$work/release
hold() {
  rm -f "$release_file"
  start "$lockset" run --write "$1" -- \
    sh -c 'while [ ! -e "$1" ]; do sleep 0.02; done' hold "$release_file"
  holder=$pid
  soon held "$1"
}
release_it() {
  touch "$release_file"
  wait "$holder"
}

finish() {
  if [ "$failures" -gt 0 ]; then
    echo "$failures checks failed" >&2
    exit 1
  fi
  exit 0
}
