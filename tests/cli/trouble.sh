# A store that does not answer: exit code 69, nothing half taken, and the job is not started; a
# renewal that fails too long: 79.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

"$lockset" init >/dev/null || exit 2

# Another program sits in a write transaction of the database until its input ends. It waits for its
# turn: a renewal may be inside at that moment.
block() {
  mkfifo "$work/orders" 2>/dev/null
  start sh -c 'exec sqlite3 -bail "$1" <"$2"' sh "$work/locks.db" "$work/orders"
  blocker=$pid
  exec 7>"$work/orders"
  printf ".timeout 60000\nBEGIN IMMEDIATE;\n.shell touch '%s'\n" "$work/blocked" >&7
  soon test -e "$work/blocked"
}
unblock() {
  rm -f "$work/blocked"
  echo 'ROLLBACK;' >&7
  exec 7>&-
  wait "$blocker"
}

block
exits 69 "$lockset" run --io-timeout 300ms -n --write x -- touch "$work/ran"
one_line 'no answer to a try'
contains 'the store is named' "$err" locks.db
exits 69 "$lockset" run --io-timeout 300ms --patience 500ms --write x -- touch "$work/ran"
one_line 'no answer to a wait'
exits 69 "$lockset" acquire --io-timeout 300ms --patience 500ms --write x --lease 30s
exits 69 "$lockset" release 5 --io-timeout 300ms --patience 500ms
false_that 'a command ran without its lock' test -e "$work/ran"
unblock
true_that 'nothing was half taken' free x
exits 0 "$lockset" run -n --write x -- true

# A waiting command retries until the store is back.
block
start "$lockset" run -v --io-timeout 300ms --patience 5m --write x -- touch "$work/ran" 2>waiter.err
waiter=$pid
soon grep -q retried waiter.err
unblock
pid=$waiter
ends 0
true_that 'the job ran when the store was back' test -e "$work/ran"

# Releases and renewals are retried as well.
exits 0 "$lockset" acquire --write z --lease 10m
stamp=$out
block
start "$lockset" renew "$stamp" --lease 9m --io-timeout 300ms --patience 60s
renewal=$pid
start "$lockset" release "$stamp" --io-timeout 300ms --patience 60s
release=$pid
unblock
pid=$release
ends 0
# The second one found the hold gone.
pid=$renewal
wait "$renewal"
code=$?
true_that 'a renewal waited' test "$code" -le 1
true_that 'a release waited' free z

# The lease runs out while nobody can renew: the job is ended, and the code is 79.
start "$lockset" run --lease 1s --io-timeout 300ms --write y -- sleep 100
pid_of_run=$pid
soon held y
block
pid=$pid_of_run
ends 79
unblock
finish
