# lockset run: the behaviour that scripts rely on.
. "$(dirname "$0")/lib.sh"

# Exit codes.
exits 0 "$lockset" run --write x -- true
exits 7 "$lockset" run --write x -- sh -c 'exit 7'
exits 137 "$lockset" run --write x -- sh -c 'kill -KILL $$'
exits 143 "$lockset" run --write x -- sh -c 'kill -TERM $$'
exits 126 "$lockset" run --write x -- "$work"
one_line "a directory as command"
contains "a directory as command" "$err" "$work"
touch plain && exits 126 "$lockset" run --write x -- ./plain
exits 127 "$lockset" run --write x -- no-such-command
one_line "a missing command"
contains "a missing command" "$err" no-such-command
true_that "released after a command that was not found" free x

# No shell in between, and standard input, output and error are the command's.
exits 0 "$lockset" run --write x -- printf '<%s>' 'a  b' '$HOME' '*' ''
same "arguments" '<a  b><$HOME><*><>' "$out"
same "standard input" "through" "$(echo through | "$lockset" run --write x -- cat)"
exits 3 "$lockset" run --write x -- sh -c 'echo to-err >&2; exit 3'
same "standard error" to-err "$err"
exits 0 "$lockset" run --write x -- printf '%s' --write y
same "options behind --" "--writey" "$out"

# A store that no other process sees excludes nobody.
for command in 'run -- touch ran' 'acquire --lease 10s'; do
  # shellcheck disable=SC2086
  exits 78 "$lockset" ${command%% *} --write x --url memory: ${command#* }
  one_line "memory: with ${command%% *}"
  contains "memory: with ${command%% *}" "$err" 'exclude nobody'
done
false_that "the command ran without excluding anybody" test -e ran

# What the command sees.
exits 0 "$lockset" run --write b --read a -- sh -c 'echo "$LOCKSET_STAMP"; echo "$LOCKSET_NAMES"'
first=${out%%$'\n'*}
same "LOCKSET_NAMES" $'read a\nwrite b' "${out#*$'\n'}"
true_that "LOCKSET_STAMP is positive" test "$first" -gt 0
exits 0 "$lockset" run --write b -- sh -c 'echo "$LOCKSET_STAMP"'
true_that "stamps grow" test "$out" -gt "$first"
# A reader beside another one: the floor of what both hold is the other's stamp. ZooKeeper gives none.
"$lockset" permits set a --read 2
start "$lockset" run --read a -- sh -c 'while [ ! -e over ]; do sleep 0.02; done'
soon held a
reader=$(stamp_of a)
exits 0 "$lockset" run --write b --read a -- sh -c 'echo "$LOCKSET_FLOORS"; echo "$LOCKSET_STAMP"'
case $LOCKSET_URL in
  zookeeper:*) floors=$'0\n0' ;;
  *) floors=$reader$'\n'${out##*$'\n'} ;;
esac
same "LOCKSET_FLOORS" "$floors" "${out%$'\n'*}"
touch over
ends 0
rm over
"$lockset" permits unset a --read
exits 0 "$lockset" run --write x -- sh -c 'lockset=$1; "$lockset" run --write y -- sh -c "echo \$LOCKSET_NAMES"' sh "$lockset"
same "nested" "write y" "$out"
same "nested: no warning" "" "$err"
exits 0 "$lockset" run --write x -- grep -E '^Sig(Blk|Ign)' /proc/self/status
same "signal mask of the command" "$(grep SigBlk /proc/self/status)" "$(printf '%s\n' "$out" | grep SigBlk)"
exits 0 "$lockset" run --write x -- sh -c 'ps -o pgid= -p $$ | tr -d " "; echo $$'
same "a process group of its own" "${out%%$'\n'*}" "${out##*$'\n'}"
exits 0 "$lockset" run --write x -- sh -c 'ls -l /proc/self/fd | grep -c -E "socket|timerfd|signalfd|eventfd|locks.db" || true'
same "no descriptor leaks into the command" 0 "$out"

# Conflict and timeout. While "held" is held, a set that contains it is refused as a whole.
hold held
exits 75 "$lockset" run --write held --write other -n -- touch ran
one_line "conflict"
contains "conflict names the name" "$err" '"held"'
true_that "nothing of a refused set is held" free other
exits 75 "$lockset" run --write held -w 0 -- touch ran
exits 9 "$lockset" run --write held -n -E 9 -- touch ran
exits 0 "$lockset" run --write held -n -E 0 -- touch ran
same "-E 0 asks for silence" '' "$err"
exits 75 "$lockset" run --write held -n -q -- touch ran
same "-q asks for silence" '' "$err"
exits 9 "$lockset" run --write held -w 100ms -E 9 -- touch ran
one_line "-E at the end of the wait"
exits 0 "$lockset" run --write held -w 100ms -E 0 -- touch ran
same "-E 0 at the end of the wait" '' "$err"
exits 124 "$lockset" run --write held -w 100ms -q -- touch ran
same "-q at the end of the wait" '' "$err"
begin=$(milliseconds)
exits 124 "$lockset" run --write held -w 300ms -- touch ran
took=$(($(milliseconds) - begin))
one_line "timeout"
contains "timeout names the name" "$err" '"held"'
true_that "waited long enough ($took ms)" test "$took" -ge 300
true_that "and not much longer ($took ms)" test "$took" -lt 5000
false_that "the command ran without the lock" test -e ran
exits 0 "$lockset" run --write another -n -- true

# A waiter gets it.
start "$lockset" run -v --write held -- touch waited 2>waiter.err
soon grep -q busy waiter.err
! lists_waiters || contains "status shows the waiter" "$("$lockset" status held)" waits
release_it
ends 0
true_that "the waiter ran" test -e waited
true_that "nothing is left" free held

finish
