#!/usr/bin/env bash
# What lockset_chaos and scripts/chaos answer to wrong input:
# bad_input.sh LOCKSET_CHAOS SCRIPTS_CHAOS
set -u
chaos=${1:?} script=${2:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/lockset-chaos-input.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# refused PART ARGUMENT...: one line that contains PART, exit 64, nothing on standard output.
refused() {
  local part=$1 code=0
  shift
  "$chaos" "$@" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" -eq 64 ] || fail "$*: exit $code"
  [ ! -s "$work/out" ] || fail "$*: says something on standard output"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$*: not one line: $(cat "$work/err")"
  grep -qF -- "$part" "$work/err" || fail "$*: no '$part' in: $(cat "$work/err")"
}

refused '--minutes is missing' --backend sqlite
refused '--backend is missing' --minutes 1
refused 'there is no backend "sqlte"; did you mean sqlite?; there are: ' --backend sqlte --minutes 1
refused "'--backend' should follow" --backend= --minutes 1
refused '--minutes takes' --backend sqlite --minutes 0
refused '--minutes takes' --backend sqlite --minutes nan
refused '--minutes takes' --backend sqlite --minutes -3
refused '--minutes takes' --backend sqlite --minutes 10x
refused '--minutes takes' --backend sqlite --minutes 1e300
refused '--seed takes' --backend sqlite --minutes 1 --seed one
refused '--processes takes a number from 1 to' --backend sqlite --minutes 1 --processes 0
refused '--names takes a number from 2 to' --backend sqlite --minutes 1 --names 1
refused '--threads takes' --backend sqlite --minutes 1 --threads 99999999999999999999999
refused '--faults none stands alone' --backend sqlite --minutes 1 --faults kill,none
refused '--faults needs a list' --backend sqlite --minutes 1 --faults ,
refused 'sqlite has no fault "kil"; did you mean kill?; it has: ' --backend sqlite --minutes 1 --faults kil
refused 'minute' --backend sqlite --minute 1
refused 'seed' --backend sqlite --minutes 1 --seed 1 --seed 2
refused 'too many positional' --backend sqlite --minutes 1 more
refused '--migrate takes two stores' --migrate sqlite --minutes 1
refused '--migrate takes two stores' --migrate sqlite sqlite sqlite --minutes 1
refused 'there is no backend "sqlte"; did you mean sqlite?' --migrate sqlite sqlte --minutes 1
refused "--backend and --migrate don't go together" --backend sqlite --migrate sqlite sqlite --minutes 1
refused '--rollback belongs to --migrate' --backend sqlite --rollback new-only --minutes 1
refused '--steerers belongs to --migrate' --backend sqlite --steerers 2 --minutes 1
refused '--steerers takes a number from 1 to 2' --migrate sqlite sqlite --steerers 3 --minutes 1
refused '--command belongs to --migrate' --backend sqlite --command lockset --minutes 1
refused 'dual-new or new-only, not "shadow"' --migrate sqlite sqlite --rollback shadow --minutes 1
refused 'sqlite -> sqlite has no fault "vacum"; did you mean vacuum?' \
  --migrate sqlite sqlite --minutes 1 --faults vacum
refused 'clock-forward is a fault of runs on one backend' \
  --migrate sqlite sqlite --minutes 1 --faults clock-forward
touch "$work/file"
refused "can't make the folder" --backend sqlite --minutes 1 --report "$work/file/below"
refused 'is not empty' --backend sqlite --minutes 1 --report "$work"
refused "'--report' should follow" --backend sqlite --minutes 1 --report=

# Without arguments the script prints its usage and the names of everything.
code=0
"$script" >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 64 ] || fail "scripts/chaos alone: exit $code"
for backend in $("$chaos" --backends); do
  grep -qE "(^| )$backend( |$)" "$work/err" || fail "scripts/chaos does not list $backend"
done
"$chaos" --help | grep -q -- --report || fail '--help'

[ "$failures" -eq 0 ] || exit 1
