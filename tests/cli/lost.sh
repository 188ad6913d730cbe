# The lock is lost, or kept longer, while the command runs.
. "$(dirname "$0")/lib.sh"

# Broken by hand: lockset notices at the next renewal, and exits with 79.
start "$lockset" run --write x --lease 6s -- sh -c 'echo $$ >job; trap "echo TERM >got; exit 0" TERM; while :; do sleep 0.02; done' 2>lost.err
soon filled job
exits 0 "$lockset" break "$(stamp_of x)"
ends 79
same "the command got" TERM "$(cat got)"
contains "it says so" "$(cat lost.err)" "lost the lock"

# Killed after the grace time.
rm -f job
start "$lockset" run --write x --lease 6s --grace 200ms -- sh -c 'trap "" TERM; echo $$ >job; while :; do sleep 0.02; done' 2>lost.err
soon filled job
"$lockset" break "$(stamp_of x)"
ends 79
contains "it says so" "$(cat lost.err)" "killing it"
true_that "killed" gone "$(cat job)"

# --on-lost kill, ignore.
rm -f job
start "$lockset" run --write x --lease 6s --on-lost kill -- sh -c 'trap "" TERM; echo $$ >job; while :; do sleep 0.02; done' 2>lost.err
soon filled job
"$lockset" break "$(stamp_of x)"
ends 79
rm -f job over
start "$lockset" run --write x --lease 6s --on-lost ignore -- sh -c 'echo $$ >job; while [ ! -e over ]; do sleep 0.02; done; echo done >ended' 2>lost.err
soon filled job
"$lockset" break "$(stamp_of x)"
soon grep -q 'runs on without it' lost.err
touch over
ends 79
true_that "the command came to its end" test -e ended

# Broken, and the command ends before the next renewal would have shown it.
rm -f job over
start "$lockset" run --write x --lease 60s -- sh -c 'echo $$ >job; while [ ! -e over ]; do sleep 0.02; done' 2>lost.err
soon filled job
"$lockset" break "$(stamp_of x)"
touch over
ends 79

# The store fails at the release, not before: the command ended in time.
exits 3 "$lockset" run --url "sqlite:$work/doomed.db" --write x -- sh -c "rm -f \"$work\"/doomed.db*; exit 3"
one_line "no release"
contains "no release" "$err" "warning"

# --at-least keeps the lock if the command was quicker.
begin=$(milliseconds)
start "$lockset" run --write x --lease 10m --at-least 6s -- sh -c 'echo done >quick; exit 4'
soon filled quick
exits 75 "$lockset" run --write x -n -- true
ends 4
took=$(($(milliseconds) - begin))
true_that "kept for six seconds ($took ms)" test "$took" -ge 6000
true_that "and not until its lease ends ($took ms)" test "$took" -lt 300000
true_that "released then" free x

# A signal ends that time; the exit code is still the command's.
rm -f quick
start "$lockset" run --write x --at-least 1h -- sh -c 'echo $$ >quick; exit 4'
soon filled quick
soon gone "$(cat quick)"
kill -TERM "$pid"
ends 4
true_that "released" free x

# A command that took longer than --at-least is not delayed.
exits 0 "$lockset" run --write x --at-least 10s -- sh -c 'sleep 10.1; date +%s%3N >over'
true_that "not delayed" test $(($(milliseconds) - $(cat over))) -lt 10000

# The lease is renewed while the command runs, so the hold lasts longer than its lease.
rm -f job
start "$lockset" run --write x --lease 3s -- sh -c 'echo $$ >job; sleep 4.5; exit 6'
soon filled job
exits 75 "$lockset" run --write x -n -- true
ends 6
finish
