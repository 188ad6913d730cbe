#!/usr/bin/env bash
# Runs the shell examples as several hosts would, and checks what they promise. For CTest; `lockset`
# is in PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work XDG_STATE_HOME=$work XDG_CONFIG_HOME=$work LOCKSET_URL=sqlite:$work/locks.db

fail() {
  echo "run_scripts: $*" >&2
  exit 1
}

# Once a day: five hosts, one run; a failure leaves it to the next one.
! "$here/once_a_day.sh" mark false || fail 'the exit code of the job is lost'
[ ! -e mark ] || fail 'a failed job left a mark'
for _ in 1 2 3 4 5; do "$here/once_a_day.sh" mark sh -c 'echo ran >>runs' & done
wait
[ "$(wc -l <runs)" = 1 ] || fail "once a day: $(wc -l <runs) runs"

# At most two of five at a time. Each counts those that run beside it.
cat >job <<'JOB'
mkdir "running.$$"
ls -d running.* | wc -l >>counts
sleep 0.2
rmdir "running.$$"
JOB
for _ in 1 2 3 4 5; do "$here/at_most_n.sh" 2 sh ./job & done
wait
[ "$(wc -l <counts)" = 5 ] || fail "at most n: $(wc -l <counts) of 5 ran"
[ "$(sort -n counts | tail -n 1)" -le 2 ] || fail 'at most n: more than two at a time'

# A stale writer is refused.
printf old >in
stamp=$(lockset run --write report -- sh -c 'echo "$LOCKSET_STAMP"')
printf new | lockset run --write report -- "$here/fenced_job.sh" put out
! LOCKSET_STAMP=$stamp "$here/fenced_job.sh" put out <in || fail 'a stale writer was not refused'
[ "$(cat out)" = new ] || fail 'a stale writer has written'
lockset run --write report -- "$here/fenced_job.sh" put out <out
[ "$(cat out)" = new ] || fail 'a file that is written from itself is empty'

# Alice edits a file. Bob opens it after her and saves before her: she overwrites nothing.
echo first >page
cat >bobs_editor <<'EDITOR'
echo "bob's line" >>"$1"
EDITOR
cat >alices_editor <<EDITOR
[ -e bob_was_here ] || LOCKSET_LABEL=bob "$here/optimistic_edit.sh" page sh ./bobs_editor
touch bob_was_here
echo "alice's line" >>"\$1"
EDITOR
code=0
"$here/optimistic_edit.sh" page sh ./alices_editor 2>told || code=$?
[ "$code" = 80 ] || fail "optimistic edit: exit code $code"
grep -q 'bob was granted a write' told || fail "optimistic edit: $(cat told)"
[ "$(cat page)" = $'first\nbob\'s line' ] || fail "optimistic edit: $(cat page)"
[ "$(cat page.*)" = $'first\nalice\'s line' ] || fail 'the version of who was overtaken is lost'
"$here/optimistic_edit.sh" page sh ./alices_editor
[ "$(cat page)" = $'first\nbob\'s line\nalice\'s line' ] || fail "optimistic edit again: $(cat page)"
echo 'all as they promise'
