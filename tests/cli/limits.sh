# The system has almost nothing left: lockset says so in one line, and nothing is held afterwards.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

"$lockset" init >/dev/null || exit 2

# with OPTION VALUE COMMAND...: runs it under this limit (ulimit).
with() { bash -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' with "$@"; }

# A limit on the size of files: an error, not a signal that ends lockset. The command gets the
# signal.
exits 0 "$lockset" init --url "sqlite:$work/small.db"
exits 69 with -f 1 "$lockset" run -n --write x --url "sqlite:$work/small.db" -- touch ran
one_line 'no room in files'
exits 0 "$lockset" run --write x -- grep SigIgn /proc/self/status
same 'what the command ignores' "$(grep SigIgn /proc/self/status)" "$out"

# File descriptors: for any number, one line that names the limit, or success.
most=$("$lockset" run --write x -- sh -c 'ls /proc/$PPID/fd | wc -l')
for ((n = 4; n < most + 8; n++)); do
  code=0
  with -n "$n" "$lockset" run -n --write x -- true >out 2>err || code=$?
  err=$(cat err)
  case $code in
    0) ;;
    # The loader finds no library.
    127) contains "$n descriptors: 127" "$err" 'loading shared libraries' ;;
    69 | 71)
      one_line "$n descriptors"
      case $err in *'ulimit -n'* | *'Too many open files'*) ;; *) fail "$n descriptors" "$err" ;; esac
      ;;
    *) fail "$n descriptors" "exit code: $code" "$err" ;;
  esac
  true_that "nothing stays with $n descriptors" free x
done

# Processes and threads. The limit does not apply to root.
chmod 711 "$work"
mkdir -m 777 all
cp "$lockset" all/lockset
few() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all \
      bash -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' with -u "$@"
  else
    with -u "$@"
  fi
}
for ((n = 1; n < 8; n++)); do
  code=0
  few "$n" env "LOCKSET_URL=sqlite:$work/all/locks.db" all/lockset run -n --write x -- true >out 2>err || code=$?
  err=$(cat err)
  case $code in
    0) ;;
    69 | 71)
      one_line "$n processes"
      case $err in
        *'ulimit -u'* | *'Resource temporarily unavailable'*) ;;
        *) fail "$n processes" "$err" ;;
      esac
      ;;
    *) fail "$n processes" "exit code: $code" "$err" ;;
  esac
done
exits 71 few 1 env "LOCKSET_URL=sqlite:$work/all/locks.db" all/lockset run -n --write x -- true

# Closed standard streams: none of lockset's files takes their place, not even for the command.
exits 0 sh -c 'exec "$@" <&- >&- 2>&-' sh "$lockset" run --write x -- \
  sh -c 'for fd in 0 1 2; do readlink "/proc/$$/fd/$fd"; done >'"$work/streams"
lacks 'closed streams' "$(cat streams)" locks.db
same 'closed streams' "$(printf '/dev/null\n%.0s' 1 2 | head -n 2)" "$(grep -v "$work/streams" streams)"
exits 74 sh -c 'exec "$@" >&-' sh "$lockset" status
one_line 'closed standard output'

# As process 1 it reaps orphans. A subreaper gets them in the same way.
case $(uname -m) in x86_64) prctl=157 ;; *) prctl=167 ;; esac
start perl -e "syscall($prctl, 36, 1, 0, 0, 0) == 0 or die; exec @ARGV" -- "$lockset" run --write x -- sh -c '
  sh -c "sh -c \"echo \\\$\\\$ >orphan; while [ ! -e end_orphan ]; do sleep 0.02; done\" & "
  while [ ! -e finish ]; do sleep 0.02; done; exit 5'
job=$pid
soon filled orphan
adopted() { [ "$(ps -o ppid= -p "$(cat orphan)" | tr -d ' ')" = "$job" ]; }
soon adopted
touch end_orphan
soon test ! -e "/proc/$(cat orphan)"
touch finish
pid=$job
ends 5

# -v reports an unchanged state only once.
printf '.timeout 60000\nBEGIN IMMEDIATE;\n.shell touch blocked\n' >orders
mkfifo more
start sh -c 'cat orders - <more | exec sqlite3 -bail "$1"' sh "$work/locks.db"
exec 7>more
soon test -e blocked
exits 69 "$lockset" run -v --io-timeout 100ms --patience 2s --write y -- touch ran
same 'the same line' 1 "$(printf '%s\n' "$err" | grep -c retried)"
exec 7>&-
false_that 'a command ran without its lock' test -e ran
finish
