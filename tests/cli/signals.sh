# Signals to lockset: passed on to the command, or ending the wait.
. "$(dirname "$0")/lib.sh"
# Background jobs of a shell without job control ignore INT and QUIT, and so would lockset.
set -m

# Prints the signals that it gets; ends on TERM with code 5.
cat >listener.sh <<'L'
for name in INT HUP QUIT USR1 USR2 WINCH; do trap "echo $name >>got" $name; done
trap 'echo TERM >>got; exit 5' TERM
echo ready >ready
while :; do sleep 0.02; done
L
rm -f got ready
start "$lockset" run --write x -- bash listener.sh
soon filled ready
for name in INT HUP QUIT USR1 USR2 WINCH TERM; do
  kill -"$name" "$pid"
  soon grep -qx "$name" got
done
ends 5
true_that "released" free x

# The whole group gets them, including the command's children.
rm -f grandchild
start "$lockset" run --write x -- sh -c 'sleep 100 & echo $! >grandchild; wait'
soon filled grandchild
kill -TERM "$pid"
ends 143
soon gone "$(cat grandchild)"

# A signal that was ignored stays ignored, as under nohup.
rm -f ready
start sh -c 'trap "" HUP; exec "$1" run --write x -- sh -c "echo ready >ready; while [ ! -e over ]; do sleep 0.02; done"' sh "$lockset"
soon filled ready
kill -HUP "$pid"
touch over
ends 0

# While it waits.
for case in INT:130 TERM:143 HUP:129 QUIT:131; do
  hold busy
  start "$lockset" run -v --write busy --write other -- touch ran 2>waiter.err
  soon grep -q busy waiter.err
  kill -"${case%:*}" "$pid"
  ends "${case#*:}"
  false_that "the command ran" test -e ran
  false_that "a waiter is left" waiting busy
  true_that "nothing is held" free other
  pid=$holder
  release_it
done
finish
