#!/usr/bin/env bash
# lockset-bench and scripts/bench as a person would use them: runs.sh LOCKSET_BENCH SCRIPTS_BENCH
set -u
bench=${1:?} script=${2:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/lockset-bench-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# run CODE ARGUMENT...: output in $work/out and $work/err.
run() {
  local wanted=$1 code=0
  shift
  timeout 120 "$bench" "$@" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" -eq "$wanted" ] || fail "$*: exit $code, not $wanted: $(cat "$work/err")"
}
says() { # says FILE TEXT
  grep -qF -- "$2" "$work/$1" || fail "no '$2' in $1: $(cat "$work/$1")"
}
says_not() {
  ! grep -qF -- "$2" "$work/$1" || fail "'$2' in $1: $(cat "$work/$1")"
}
quickly=(--repetitions 2 --slice 20)

# A server that does not answer, an address given twice, a text that is no address: the rest is
# measured.
run 69 --workload uncontended "${quickly[@]}" --json "$work/some.json" \
  'redis://:geheim@127.0.0.1:1' "sqlite:$work/locks.db" "sqlite:$work/locks.db" 'orakel://x' memory:
says err 'redis: '
says err 'given twice'
says err 'orakel'
says_not err geheim
says_not out geheim
says out 'One client, one name'
says out sqlite
says out memory
grep -q '"per_second"' "$work/some.json" || fail 'nothing measured in some.json'
! grep -q geheim "$work/some.json" || fail 'a password in some.json'
[ "$(find "$work" -name 'locks.db*' | wc -l)" -eq 0 ] || fail "files left: $(ls "$work")"

# The same results again, read from the file.
run 0 report "$work/some.json" --html "$work/page.html"
says out 'One client, one name'
grep -q '</html>' "$work/page.html" || fail 'no page'
run 64 report "$work/nothing.json"
says err nothing.json
echo '{"measurements": 3' >"$work/broken.json"
run 65 report "$work/broken.json"
says err broken.json

# A file that can't be written is reported at once, not after an hour of measuring.
run 74 --json /nowhere/results.json memory:
says err /nowhere/results.json
says_not err connecting

# Addresses from a file, so that no argument shows them.
printf '# one\nmemory:\n\n' >"$work/urls"
run 0 --workload set-size "${quickly[@]}" --urls "$work/urls"
says out 'sets of 1 to 64 names'

run 64
says err 'no address'
run 64 --workload contendet memory:
says err 'did you mean contended'
run 0 --help
says out --quick

# Interrupted: the results so far are shown and written, and the files of the space are removed.
"$bench" --slice 100 --repetitions 2 --json "$work/part.json" "sqlite:$work/cut.db" \
  >"$work/out" 2>"$work/err" &
job=$!
until grep -q 'sqlite: set-size' "$work/err" || ! kill -0 "$job" 2>/dev/null; do sleep 0.05; done
kill -TERM "$job"
code=0
wait "$job" || code=$?
[ "$code" -eq 130 ] || fail "interrupted: exit $code, not 130: $(cat "$work/err")"
says out 'One client, one name'
says out INTERRUPTED
grep -q '"interrupted": *true' "$work/part.json" || fail 'part.json does not say interrupted'
[ "$(find "$work" -name 'cut.db*' | wc -l)" -eq 0 ] || fail "files left: $(ls "$work")"

code=0
"$script" --stores orakel >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 64 ] || fail "scripts/bench --stores orakel: exit $code"
says err "no store 'orakel'"

[ "$failures" -eq 0 ] || exit 1
echo 'all as it should be'
