#!/usr/bin/env bash
# Once a day, though every host has it in its crontab: the lock keeps two from running at a time, and
# a mark that is written under the lock keeps the next one from running again.
#
#   ./once_a_day.sh MARK COMMAND...     MARK: a file that all hosts see, or ask a table instead
#
# LOCKSET_URL names a store that all hosts use. A failed job leaves no mark: another host may try.
set -euo pipefail
mark=${1:?usage: once_a_day.sh MARK COMMAND...}
shift

# Not "is it free now?" but waiting: a host that comes a moment later finds the mark, or finds that
# the first one failed.
exec lockset run --write "once a day: $mark" -- bash -c '
  mark=$1 today=$(date -u +%F)
  shift
  [ "$(cat "$mark" 2>/dev/null)" != "$today" ] || exit 0  # another host was quicker
  "$@"
  code=$?
  [ "$code" -ne 0 ] || echo "$today" >"$mark"
  exit "$code"' once_a_day "$mark" "$@"
