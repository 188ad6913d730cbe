# Nobody reads lockset's messages: it still keeps and releases the lock.
. "$(dirname "$0")/lib.sh"

# full NAME: makes a pipe with no room left, open for reading and writing as descriptor 8.
full() {
  mkfifo "$1"
  exec 8<>"$1"
  dd if=/dev/zero of="$1" oflag=nonblock bs=4096 count=1000 2>/dev/null
  dd if=/dev/zero of="$1" oflag=nonblock bs=1 count=5000 2>/dev/null
}
# drain: copies its content, without the zeros, to the file "said" until its writers end.
drain() { start sh -c 'exec 8>&-; tr -d "\\000" <"$1" >said' sh "$1"; }

# Longer than the lease, with a line for each renewal.
full renewals
start "$lockset" run -v --lease 4s --write x -- sh -c 'sleep 8; touch survived' 2>&8
job=$pid
soon held x
soon test -e survived || finish
soon free x
true_that "it waits until somebody reads" kill -0 "$job"
drain renewals
reader=$pid
exec 8>&-
soon gone "$job"
pid=$job
ends 0
pid=$reader
ends 0
contains "nothing of it was lost" "$(cat said)" renewed
lacks "the lock was not lost" "$(cat said)" 'lost'

# A lock is lost: lockset still ends the command.
full lost
start "$lockset" run --lease 4s --grace 1s --write x -- sleep 1000 2>&8
job=$pid
soon held x
exits 0 "$lockset" break "$(stamp_of x)"
ended() { [ -z "$(ps -o pid= --ppid "$job" | tr -d ' \n')" ]; }
soon ended
# SIGTERM ends the wait for a reader.
kill -TERM "$job"
soon gone "$job" || kill -KILL "$job"
pid=$job
ends 79
exec 8>&-
finish
