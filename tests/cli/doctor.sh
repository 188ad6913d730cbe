# doctor, and the script of init. For servers: server_lib.sh, and the test of each store.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# level SUBJECT: the level that the last doctor reported for it.
level() { printf '%s\n' "$out" | sed -n "s/^\(ok\|warning\|unsafe\) *$1  .*/\1/p"; }

# There is no space yet: doctor says so, and makes none.
exits 0 "$lockset" doctor
same "no space yet" warning "$(level space)"
false_that "doctor makes no database" test -e locks.db
exits 78 "$lockset" doctor --url "sqlite:$work/nowhere/locks.db"
same "no directory" unsafe "$(level space)"
contains "no directory" "$out" 'mkdir -p'
one_line "no directory"

# Everything is as it should be.
exits 0 "$lockset" init
exits 0 "$lockset" permits set '*' --read 3
exits 0 "$lockset" acquire --write a --write b --lease none
exits 0 "$lockset" doctor
same "nothing on standard error" "" "$err"
for subject in space 'journal mode' permissions 'file system' durability 'free space' version \
  'round trip' 'clock rate' permits leases waiting holds; do
  same "$subject" ok "$(level "$subject")"
done
same "a line for each finding, a header and a last line" 15 "$(printf '%s\n' "$out" | wc -l)"
same "the last line" "programs may rely on the store sqlite:$work/locks.db" "${out##*$'\n'}"
contains "permits" "$out" 'read 3, write 1'
contains "the role" "$out" 'its owner alone may write it, and so may do everything, as operators'
contains "longest lease" "$out" 'at most 10m'
contains "durability" "$out" 'lease: what outlives its process'
contains "holds" "$out" '1 hold, 1 without a lease, 0 waiters'
exits 0 "$lockset" init --max-lease 20s
exits 0 "$lockset" doctor
contains "longest lease" "$out" 'at most 20s'

# For programs.
exits 0 "$lockset" doctor --json
contains "JSON" "$out" '"worst": "ok"'
contains "JSON" "$out" '"subject": "journal mode"'
exits 0 "$lockset" doctor --json --url memory:
contains "memory is for tests" "$out" '"worst": "warning"'
contains "memory is for tests" "$out" 'for tests'

exits 0 "$lockset" doctor --url "sqlite:$work/locks.db?durability=full"
contains "durability" "$out" 'full: every answer outlives a power cut'

# What weakens a promise is a warning with its remedy.
chmod o+w locks.db
exits 0 "$lockset" doctor
same "writable by all" warning "$(level permissions)"
contains "the last line" "${out##*$'\n'}" 'see the warning'
contains "writable by all" "$out" 'chmod o-w'
chmod o-w locks.db
cp locks.db other.db
sqlite3 other.db 'PRAGMA journal_mode = DELETE' >/dev/null
exits 0 "$lockset" doctor --url "sqlite:$work/other.db"
same "journal mode" warning "$(level 'journal mode')"

# open refuses what doctor calls unsafe, and both say so.
sqlite3 stranger.db 'CREATE TABLE t(x)'
exits 78 "$lockset" doctor --url "sqlite:$work/stranger.db"
same "the database of another program" unsafe "$(level space)"
one_line "the database of another program"
exits 78 "$lockset" doctor --json --url "sqlite:$work/stranger.db"
contains "JSON of what is unsafe" "$out" '"worst": "unsafe"'
exits 78 "$lockset" run --url "sqlite:$work/stranger.db" --write x -- true
ln locks.db second-name.db
exits 78 "$lockset" doctor
same "a second name" unsafe "$(level space)"
rm second-name.db
exits 78 "$lockset" doctor --url "sqlite:$work"
same "a directory" unsafe "$(level space)"

# A store that can't be asked: doctor still prints what it found, and exits with 69.
mkfifo orders
start sh -c 'exec sqlite3 -bail "$1" <orders' sh "$work/locks.db"
exec 7>orders
printf ".timeout 60000\nBEGIN IMMEDIATE;\n.shell touch '%s'\n" "$work/blocked" >&7
soon test -e blocked
exits 69 "$lockset" doctor --io-timeout 300ms
one_line "a store that is kept busy"
contains "a store that is kept busy" "$err" locks.db
same "what needs no answer was found" ok "$(level 'file system')"
echo 'ROLLBACK;' >&7
exec 7>&-
ends 0
exits 0 "$lockset" doctor

# Wrong usage.
exits 64 "$lockset" doctor now
one_line "an operand"
exits 64 "$lockset" doctor --jsn
contains "a misspelt option" "$err" '--json'
exits 78 "$lockset" doctor --url nosuch:x
one_line "an unknown store"
exits 78 "$lockset" doctor --url "sqlite:$work/locks.db?synchronus=full"
one_line "an unknown parameter"

# init --print: refused for a store without a script.
exits 64 "$lockset" init --print
one_line "no script"
contains "no script" "$err" 'has no script'
same "no script" "" "$out"
exits 64 "$lockset" init --print --max-lease 20s
one_line "a script and a setting"
exits 78 "$lockset" init --print --url nosuch:x

# Roles: refused for a store without accounts; an account has one role.
for print in '' --print; do
  # shellcheck disable=SC2086
  exits 64 "$lockset" init --program app $print
  one_line "no accounts"
  contains "no accounts" "$err" 'does not tell programs from operators'
  # shellcheck disable=SC2086
  exits 64 "$lockset" init --program app --operator app $print
  one_line "both roles"
  contains "both roles" "$err" '"app"'
done
finish
