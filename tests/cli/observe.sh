# observe, validate and --unless-changed: what was written since, and by whom. SEM 27, 28
. "$(dirname "$0")/lib.sh"

# refused CODE CULPRIT COMMAND...
refused() {
  local code=$1 culprit=$2
  shift 2
  exits "$code" "$@"
  one_line "$*"
  contains "$*" "$err" "$culprit"
  same "$*: standard output" "" "$out"
}

# A name that nobody has written is unchanged; so it is after somebody read it.
exits 0 "$lockset" observe invoice/17
seen=$out
same "one line" 1 "$(printf '%s\n' "$out" | wc -l)"
contains "the name, encoded" "$seen" 'seen-1,invoice%2F17='
same "nothing else is said" '' "$err"
exits 0 "$lockset" run --read invoice/17 -- true
exits 0 "$lockset" validate "$seen"
same "unchanged: nothing is said" '' "$out$err"
exits 0 "$lockset" validate --json "$seen"
contains "unchanged, as JSON" "$out" '"unchanged": true'
contains "unchanged, as JSON" "$out" '"changes": []'

# A write on the condition is granted, and is a change for all who look later.
exits 0 "$lockset" run --write invoice/17 --unless-changed "$seen" --label alice -- sh -c 'echo "$LOCKSET_STAMP"'
stamp=$out
exits 80 "$lockset" validate "$seen"
same "what was written, by whom, when" "\"invoice/17\" was written by alice, stamp $stamp, WHEN" \
  "$(printf '%s\n' "$out" | sed 's/[0-9]\{4\}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]$/WHEN/')"
same "that is no trouble" '' "$err"
exits 80 "$lockset" validate --json "$seen"
contains "changed, as JSON" "$out" '"unchanged": false'
contains "changed, as JSON" "$out" "\"stamp\": $stamp"
contains "changed, as JSON" "$out" '"label": "alice"'
true_that "changed, as JSON: when" grep -q '"when": "[0-9-]*T[0-9:]*Z"' "$work/out"
contains "changed, as JSON" "$out" '"was_being_written": false'

# The same observation is refused from now on, with the name, the writer and the stamp.
for options in '' '-n' '-w 5s' '-n -q' '-n -E 0'; do
  # shellcheck disable=SC2086
  refused 80 "\"invoice/17\" has changed: alice was granted a write (stamp $stamp" \
    "$lockset" run --write invoice/17 --unless-changed "$seen" $options -- touch "$work/ran"
done
refused 80 '"invoice/17" has changed' "$lockset" run --read invoice/17 --write b \
  --unless-changed "$seen" -- touch "$work/ran"
false_that "a command ran though the name had changed" test -e "$work/ran"
true_that "nothing is held" free b
exits 0 "$lockset" observe invoice/17
exits 0 "$lockset" run --write invoice/17 --unless-changed "$out" -- true

# Several names: one line for each that was written.
exits 0 "$lockset" observe c 'a b' 'naïve=,%' c
many=$out
exits 0 "$lockset" validate "$many"
exits 0 "$lockset" run --write c --write 'a b' --label bob -- true
exits 80 "$lockset" validate "$many"
same "a line for each" $'"a b" was written by bob\n"c" was written by bob' \
  "$(printf '%s\n' "$out" | sed 's/, stamp.*//')"
exits 0 "$lockset" observe c 'a b' 'naïve=,%'
exits 0 "$lockset" run --read c --read 'a b' --write 'naïve=,%' --write more --unless-changed "$out" \
  -- sh -c 'echo "$LOCKSET_NAMES"'
same "more names than were observed" $'read a b\nread c\nwrite more\nwrite naïve=,%' "$out"

# What a terminal would obey is not printed.
exits 0 "$lockset" observe evil
seen=$out
exits 0 "$lockset" run --write evil --label $'evil\033[31m' -- true
exits 80 "$lockset" validate "$seen"
lacks "escape sequences" "$out" $'\033'
contains "escape sequences" "$out" evil
exits 80 "$lockset" run --write evil --unless-changed "$seen" -- true
lacks "escape sequences in a refusal" "$err" $'\033'

# What is being written while it is observed is never unchanged. A changed name comes before one
# that is not free, and a wait ends with it.
exits 0 "$lockset" observe held
before=$out
hold held
exits 0 "$lockset" observe held
during=$out
true_that "it says so" test "${during%w}" != "$during"
exits 80 "$lockset" validate "$during"
contains "being written" "$out" '"held" was being written when it was observed'
refused 80 '"held" was being written when it was observed' \
  "$lockset" run --write held --unless-changed "$during" -n -- touch "$work/ran"
refused 80 '"held" has changed' "$lockset" run --write held -w 30s --unless-changed "$before" -- touch "$work/ran"
exits 0 "$lockset" observe other
other=$out
exits 75 "$lockset" run --write other --write held --unless-changed "$other" -n -- touch "$work/ran"
start "$lockset" run -v -w 60s --write other --write held --unless-changed "$other" -- touch "$work/ran" \
  2>waiter.err
waiter=$pid
soon grep -q busy waiter.err
exits 0 "$lockset" run --write other --label quick -n -- true
pid=$waiter
ends 80
contains "the end of a wait" "$(cat waiter.err)" '"other" has changed: quick was granted a write'
release_it
exits 80 "$lockset" validate "$during"
contains "it was being written then" "$out" '"held" was being written when it was observed'
false_that "a command ran in spite of a change" test -e "$work/ran"

# From standard input: the first line. The rest is the command's.
exits 0 sh -c '"$1" observe piped | "$1" validate -' sh "$lockset"
exits 0 "$lockset" observe piped
printf '%s\nfor the job\n' "$out" >lines
exits 0 sh -c '"$1" run --write piped --unless-changed - -- cat <lines' sh "$lockset"
same "the rest of standard input" 'for the job' "$out"
exits 80 sh -c 'printf "%s" "$(cat lines)" | "$1" validate -' sh "$lockset"
exits 80 sh -c '"$1" run --write piped --unless-changed - -- touch ran <lines' sh "$lockset"
refused 64 'standard input' sh -c '"$1" validate - </dev/null' sh "$lockset"
refused 64 'standard input' sh -c '"$1" validate - <&-' sh "$lockset"
refused 64 'standard input' sh -c 'echo | "$1" run --write x --unless-changed - -- touch ran' sh "$lockset"
refused 64 'too long' sh -c '"$1" validate - </dev/zero' sh "$lockset"

# 256 long names are more than the system takes as an argument.
# shellcheck disable=SC2046
exits 0 "$lockset" observe $(seq -f "$(printf 'é%.0s' $(seq 100))%g" 256)
printf '%s\n' "$out" >lines
true_that "a long observation" test "$(wc -c <lines)" -gt 131072
exits 0 sh -c '"$1" validate - <lines' sh "$lockset"

# What was observed has to be locked.
exits 0 "$lockset" observe x y
both=$out
refused 64 '"y" was observed and is not locked' \
  "$lockset" run --write x --unless-changed "$both" -- touch "$work/ran"
contains "what to do" "$err" '--write or --read'
refused 64 '"x" was observed and is not locked' "$lockset" run --unless-changed "$both" -- touch "$work/ran"

# Bad input.
refused 64 'seen-1' "$lockset" validate "${both#seen-}"
refused 64 ',NAME=STAMP' "$lockset" validate "${both%=*}"
refused 64 'seen-1' "$lockset" run --write x --unless-changed x -- touch "$work/ran"
refused 64 'is empty' "$lockset" validate ''
refused 64 'is empty' "$lockset" run --write x --unless-changed '' -- touch "$work/ran"
refused 64 'given twice' "$lockset" run --write x --write y --unless-changed "$both" \
  --unless-changed "$both" -- touch "$work/ran"
refused 64 'missing' "$lockset" observe
refused 64 'missing' "$lockset" validate
refused 64 '"extra"' "$lockset" validate "$both" extra
refused 64 '"*"' "$lockset" observe '*'
refused 64 '"@app:x"' "$lockset" observe x @app:x
refused 64 'empty' "$lockset" observe ''
refused 64 '256' "$lockset" observe $(seq 257)
refused 64 'lockset observe' "$lockset" observ x
refused 64 'lockset validate' "$lockset" valdate "$both"
refused 64 '--unless-changed' "$lockset" run --write x --unles-changed "$both" -- touch "$work/ran"
printf 'unless-changed = %s\n' "$both" >bad.conf
refused 78 'command line only' "$lockset" status --config bad.conf
for command in 'observe x' "validate $both"; do
  # shellcheck disable=SC2086
  refused 78 'sees no writes' "$lockset" $command --url memory:
done
false_that "a command ran in spite of bad input" test -e "$work/ran"
exits 74 sh -c '"$1" observe x >/dev/full' sh "$lockset"
exits 0 "$lockset" validate "$both"

# A hold that outlives its command, with "no-acquire" not (a store whose holds end with their
# process).
if [ "${2:-}" != no-acquire ]; then
  exits 0 "$lockset" acquire --write x --read y --lease 60s --label carol --unless-changed "$both"
  stamp=$out
  refused 80 "carol was granted a write (stamp $stamp" \
    "$lockset" acquire --write x --write y --lease 60s --unless-changed "$both" -n
  exits 0 "$lockset" release "$stamp"
  refused 80 "carol was granted a write (stamp $stamp" \
    "$lockset" acquire --write x --write y --lease 60s --unless-changed "$both"
  refused 64 '"y" was observed' "$lockset" acquire --write x --lease 60s --unless-changed "$both"
  true_that "nothing is held" free x
fi
finish
