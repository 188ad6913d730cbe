# Every bad input: the right exit code, one line that names the culprit, no effect.
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
run() { "$lockset" run "$@" -- touch "$work/ran"; }

refused 64 'no lock is named' run
refused 64 '"both"' run --read both --write both
refused 64 '256' run --write "$(printf 'n%.0s' $(seq 256))"
exits 0 "$lockset" run --write "$(printf 'n%.0s' $(seq 255))" -- true
refused 64 '\xff' run --write $'bad\xffname'
refused 64 'control' run --write $'new\nline'
refused 64 'empty' run --write ''
refused 64 '"@app:x"' run --write @app:x
refused 64 '"*"' run --write '*'
refused 64 '--write needs a value' "$lockset" run --write -- true
refused 64 '"3x"' run --write x -w 3x
refused 64 '"-1s"' run --write x --wait=-1s
refused 64 'too short' run --write x --lease 10ms
refused 64 '"sometimes"' run --write x --on-lost sometimes
refused 64 '"300"' run --write x -E 300
refused 64 '-n and -w' run --write x -n -w 3s
refused 64 '--write' run --wriet x
refused 64 'takes no value' run --write x --no-wait=3
refused 64 'application id' run --write x --app "$(printf 'a%.0s' $(seq 201))"
refused 64 '--' "$lockset" run --write x true
refused 64 'which command' "$lockset" run --write x --
refused 64 'which command' "$lockset" run --write x
false_that "a command ran in spite of bad input" test -e "$work/ran"

refused 64 'lockset help' "$lockset"
refused 64 'lockset status' "$lockset" statsu
refused 64 'permits list' "$lockset" permits lits
refused 64 'list, get, set, unset' "$lockset" permits
refused 64 'the command goes first' "$lockset" --url sqlite: status
refused 64 '"abc"' "$lockset" release abc
refused 64 '"0"' "$lockset" release 0
refused 64 '"99999999999999999999"' "$lockset" break 99999999999999999999
refused 64 'missing' "$lockset" renew
refused 64 '"extra"' "$lockset" release 1 extra
refused 64 '"0"' "$lockset" permits set x --read 0
refused 64 '--read N' "$lockset" permits set x
refused 64 '"@x"' "$lockset" permits set @x --read 2
refused 64 '--lease' "$lockset" acquire --write x
refused 64 '--prefix' "$lockset" status x --prefix y
refused 1 ' 5' "$lockset" release 5
refused 1 ' 5' "$lockset" renew 5
refused 1 ' 5' "$lockset" break 5

# Addresses and stores.
refused 78 '"nosuch:"' env LOCKSET_URL=nosuch:place "$lockset" status
refused 78 'LOCKSET_URL' env LOCKSET_URL=nonsense "$lockset" status
refused 78 '--url' "$lockset" status --url nosuch:place
head -c 8192 /dev/urandom >no-database
exits 78 "$lockset" status --url "sqlite:$work/no-database"
one_line "a file that is no database"
contains "a file that is no database" "$err" no-database
exits 78 "$lockset" run --url "sqlite:$work/no-database" --write x -- touch "$work/ran"
touch a-file
"$lockset" status --url "sqlite:$work/a-file/locks.db" >out 2>err
code=$?
err=$(cat err)
case $code in 69 | 78) ;; *) fail "unwritable path: exit code $code" "$err" ;; esac
one_line "unwritable path"
contains "unwritable path" "$err" a-file
false_that "a command ran without a store" test -e "$work/ran"

# Standard output that can't be written, and help that can.
exits 74 sh -c '"$1" status >/dev/full' sh "$lockset"
exits 74 sh -c '"$1" acquire --write full --lease 30s >/dev/full' sh "$lockset"
true_that "nobody learnt of the stamp, so it was released" free full
for words in help --help 'help run' 'help permits' 'help permits set' 'run --help' 'status -h' '--version'; do
  # shellcheck disable=SC2086
  exits 0 "$lockset" $words
  true_that "$words prints something" test -n "$out"
done
exits 64 "$lockset" help nosuch
finish
