# On a terminal, which script(1) of util-linux makes.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || { echo "script(1) of util-linux is needed" >&2; exit 1; }
# Otherwise processes in the background ignore INT.
set -m
export SHELL=/bin/bash

# The input comes through a FIFO, so that the session lasts as long as we want.
# terminal COMMAND: runs it there; the file "screen" contains its output.
terminal() {
  rm -f typed screen
  mkfifo typed
  exec 5<>typed
  # Not by `start`: a background job of a function would get /dev/null as its input.
  script -qfec "$1" screen <&5 >/dev/null 2>&1 &
  pid=$!
  started+=("$pid")
}
type_in() { printf "$1" >&5; }
# The first line of the file is the command itself.
seen() { [ -e screen ] && tail -n +2 screen | grep -aqF -- "$1"; }

# A command in the foreground can read from the terminal (otherwise it would be stopped).
terminal "$lockset run --write x -- sh -c 'echo ready; read -r line; echo \"got-\$line\"; exit 9'"
soon seen ready
type_in 'words\n'
soon seen got-words
ends 9

# It has the terminal from its start: ps shows a +, behind an N if all of this runs under nice.
terminal "$lockset run --write x -- sh -c 'ps -o stat= -p \$\$ | tr -d N; true'"
ends 0
true_that "the command is in the foreground" seen 'S+'

# Also before a pipe, where the terminal is given away only when it is asked for.
terminal "$lockset run --write x -- sh -c 'echo ready >&2; read -r line; echo \"got-\$line\"' | cat"
soon seen ready
type_in 'words\n'
soon seen got-words
ends 0

# ^C reaches the command.
terminal "$lockset run --write x -- sh -c 'echo ready; sleep 1000'"
soon seen ready
type_in '\003'
ends 130
true_that "released" free x

# Afterwards the shell has the terminal again.
terminal "bash -c '$lockset run --write x -- true; read -r line; echo \"shell-\$line\"'"
type_in 'words\n'
soon seen shell-words
ends 0

# ^Z stops the job for its shell; fg continues it.
terminal "bash --norc --noprofile -i"
type_in "PS1=; $lockset run --write x --lease 30s -- sh -c 'echo rea''dy; read -r line; echo got-\$line'\n"
soon seen ready
type_in '\032'
soon seen Stopped
true_that "still held" held x
type_in 'echo shell-''lives\n'
soon seen shell-lives
type_in 'fg\n'
# Input from now on must go to the command: it may be read only after the command is back.
type_in 'words\n'
soon seen got-words
soon free x
type_in 'exit 3\n'
ends 3

# While it waits, it names the holder.
hold x
terminal "$lockset run --write x -- true"
soon seen 'waiting for'
pid_of_terminal=$pid
release_it
pid=$pid_of_terminal
ends 0

# ^S stops only the display: neither the renewals that -v reports, nor the start of a waiting job.
hold x
terminal "$lockset run --write x -- touch after-waiting"
soon seen 'waiting for'
type_in '\023'
pid_of_waiter=$pid
release_it
soon test -e after-waiting
pid=$pid_of_waiter
soon free x
type_in '\021'
ends 0
terminal "$lockset run -v --lease 4s --write x -- sh -c 'sleep 1; touch begun; sleep 7; touch survived'"
soon seen granted
type_in '\023'
soon test -e begun
soon free x
type_in '\021'
ends 0
true_that "the lock outlasts a stopped terminal" test -e survived
finish
