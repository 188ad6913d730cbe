#!/usr/bin/env bash
# What lockset_chaos does if something is wrong: failures.sh LOCKSET_CHAOS. It starts the worker
# next to it; here that is another program.
set -u
chaos=${1:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/lockset-chaos-failures.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work  # what a killed one leaves is removed too
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

cp "$chaos" "$work/lockset_chaos"
# worker_is: reads the program from standard input.
worker_is() {
  cat >"$work/lockset_chaos_worker"
  chmod +x "$work/lockset_chaos_worker"
}
# run_chaos CODE ARGUMENT...
run_chaos() {
  local expected=$1 code=0
  shift
  rm -rf "$work/report"
  "$work/lockset_chaos" --backend sqlite --faults none --processes 2 --report "$work/report" "$@" \
    >"$work/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "exit $code, expected $expected: $(cat "$work/out")"
}
says() { grep -qF -- "$1" "$work/out" || fail "no '$1' in: $(cat "$work/out")"; }

# If a process ends on its own, the run fails and shows its output.
worker_is <<'END'
#!/bin/sh
echo "lockset_chaos_worker: all is lost" >&2
exit 3
END
run_chaos 1 --minutes 0.5
says 'ended by itself with 3'
says 'all is lost'

# Two workers hold the same lock: the checker's verdict becomes the run's.
worker_is <<'END'
#!/bin/sh
for word; do
  case $word in
    --log=*) log=${word#*=} ;;
    --process=*) name=${word#*=} ;;
    --stop=*) stop=${word#*=} ;;
  esac
done
number=${name#worker-}
echo "lockset-history 1 $name" >"$log"
op=0
while [ ! -e "$stop" ]; do
  op=$((op + 1))
  now=$(awk '{printf "%d000000", $1 * 1000}' /proc/uptime)
  echo "$now ask op=$op set=w:one/1 lease=2000000000 wait=0" >>"$log"
  echo "$((now + 1000)) granted op=$op stamp=$((op * 1000 + number))" \
    "until=$((now + 1900000000)) floors=" >>"$log"
  sleep 0.2
done
END
run_chaos 1 --minutes 0.05
says 'I1 exclusion is broken'
says "Report: $work/report"
[ -s "$work/report/summary.txt" ] && [ -s "$work/report/logs/worker-1.log" ] || fail 'no report'

# If asked to end early, it ends in order and judges the history so far.
cp "$(dirname "$chaos")/lockset_chaos_worker" "$work/"
"$work/lockset_chaos" --backend sqlite --minutes 10 --processes 2 --report "$work/early" \
  >"$work/out" 2>&1 &
pid=$!
granted() { grep -q ' granted ' "$work"/early/logs/worker-*.log 2>/dev/null; }
until granted || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
kill -INT "$pid"
code=0
wait "$pid" || code=$?
[ "$code" -eq 0 ] || fail "interrupted: exit $code: $(cat "$work/out")"
says ', interrupted'
says 'I1 exclusion       none'

# If it is killed itself, no process is left behind.
"$work/lockset_chaos" --backend sqlite --minutes 10 --processes 2 --report "$work/killed" \
  >"$work/out" 2>&1 &
pid=$!
workers() { pgrep -f "^$work/lockset_chaos_worker "; }
until workers >/dev/null || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
workers >/dev/null || fail "it started no workers: $(cat "$work/out")"
{ kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
for _ in {1..200}; do
  workers >/dev/null || break
  sleep 0.05
done
workers >/dev/null && fail 'workers outlive the controller'

[ "$failures" -eq 0 ] || exit 1
