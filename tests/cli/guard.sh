# If lockset is killed or stopped, its command never runs on unnoticed.
. "$(dirname "$0")/lib.sh"

job='echo $$ >job; sleep 1000 & echo $! >grandchild; wait'

# kill -9: the command and its children end at once: `soon` is over long before the lease is.
start "$lockset" run --write x --lease 60s -- sh -c "$job"
soon filled grandchild
stamp=$(stamp_of x)
kill -KILL "$pid"
soon gone "$(cat job)"
soon gone "$(cat grandchild)"
ends 137

# Then the hold is released: a waiter has the lock long before the end of the lease.
exits 0 "$lockset" run --write x -w 20s -- sh -c 'echo "$LOCKSET_STAMP"'
true_that "the next stamp is greater" test "$out" -gt "$stamp"

# But not before the last process of the command is gone, even one that ignores SIGTERM.
rm -f job grandchild
start "$lockset" run --write x --lease 60s --grace 1s -- sh -c "trap '' TERM; $job"
soon filled grandchild
kill -KILL "$pid"
exits 0 "$lockset" run --write x -w 20s -- sh -c '! grep -qs "^State:.[RSDTt]" /proc/$(cat grandchild)/status'
ends 137

# Not with --at-least, which nobody else can keep; a waiter gets the lock within the lease
# (semantics 10).
rm -f job grandchild
start "$lockset" run --write x --lease 2s --at-least 1h -- sh -c "$job"
soon filled grandchild
stamp=$(stamp_of x)
kill -KILL "$pid"
soon gone "$(cat grandchild)"
exits 75 "$lockset" run --write x -n -- true
exits 0 "$lockset" run --write x -w 15s -- sh -c 'echo "$LOCKSET_STAMP"'
true_that "the next stamp is greater" test "$out" -gt "$stamp"
ends 137

# The same for a command that ignores SIGTERM: killed after --grace.
rm -f job grandchild
start "$lockset" run --write x --grace 300ms -- sh -c "trap '' TERM; $job"
soon filled grandchild
kill -KILL "$pid"
soon gone "$(cat job)"
soon gone "$(cat grandchild)"
ends 137
# The next holder gets it only then.
exits 0 "$lockset" run --write x -w 20s -- true

# kill -STOP: the guard ends the command at the end of the lease, and another process gets the lock.
# When lockset continues, it exits with 79.
rm -f job grandchild
start "$lockset" run --write x --lease 4s -- sh -c "$job"
soon filled grandchild
stamp=$(stamp_of x)
begin=$(milliseconds)
kill -STOP "$pid"
soon gone "$(cat grandchild)"
took=$(($(milliseconds) - begin))
true_that "not before the lease was over ($took ms)" test "$took" -ge 600
exits 0 "$lockset" run --write x -w 15s -- sh -c 'echo "$LOCKSET_STAMP"'
true_that "the next stamp is greater" test "$out" -gt "$stamp"
twice_the_lease() { [ $(($(milliseconds) - begin)) -ge 8000 ]; }
soon twice_the_lease
kill -CONT "$pid"
ends 79

# Stopped only for a moment, it continues as if nothing had happened.
rm -f job grandchild over
start "$lockset" run --write x --lease 10s -- sh -c 'echo $$ >job; while [ ! -e over ]; do sleep 0.02; done'
soon filled job
kill -STOP "$pid"
kill -CONT "$pid"
touch over
ends 0

# With --on-lost=ignore the command is not touched.
rm -f job over
start "$lockset" run --write y --on-lost ignore -- sh -c 'echo $$ >job; while [ ! -e over ]; do sleep 0.02; done; echo done >ended'
soon filled job
kill -KILL "$pid"
ends 137
touch over
soon filled ended

# Signals to lockset's session don't reach the guard, and the guard never stays behind.
rm -f job over
start "$lockset" run --write z -- sh -c 'echo $$ >job; while [ ! -e over ]; do sleep 0.02; done'
soon filled job
guard=$(pgrep -P "$pid" -x lockset-guard)
true_that "there is a guard" test -n "$guard"
same "the guard has a session of its own" "$guard" "$(ps -o sid= -p "$guard" | tr -d ' ')"
kill -TERM "$guard"
kill -INT "$guard"
true_that "the guard does not mind signals" kill -0 "$guard"
same "the guard keeps open its channel, its timer and a handle on the command" 3 "$(ls "/proc/$guard/fd" | wc -l)"
touch over
ends 0
true_that "the guard is gone" gone "$guard"

# Even without its guard, the command ends with a lockset that was killed.
rm -f job grandchild
start "$lockset" run --write w -- sh -c 'echo $$ >job; while :; do sleep 0.02; done'
soon filled job
kill -KILL "$(pgrep -P "$pid" -x lockset-guard)"
kill -KILL "$pid"
soon gone "$(cat job)"
ends 137

finish
