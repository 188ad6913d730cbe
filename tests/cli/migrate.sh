# migrate: all phases and back between two SQLite files, with programs that follow and one that does
# not; what is refused, and the messages.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
old=sqlite:$work/old.db new=sqlite:$work/new.db
unset LOCKSET_URL
export LOCKSET_MIGRATE_FROM=$old LOCKSET_MIGRATE_TO=$new

alone() { # ADDRESS COMMAND...: as a program that knows the one store only
  local url=$1
  shift
  env -u LOCKSET_MIGRATE_FROM -u LOCKSET_MIGRATE_TO "LOCKSET_URL=$url" "$@"
}
held_alone() { # ADDRESS NAME
  alone "$1" "$lockset" status "$2" --json >status && grep -q '"stamp"' status
}
phase() { "$lockset" migrate status --json | sed -n 's/^  "phase": "\(.*\)",/\1/p'; }
is_json() { printf '%s' "$1" | python3 -m json.tool >/dev/null; }

# Wrong settings: one line each, before anything is asked.
exits 78 env -u LOCKSET_MIGRATE_TO "$lockset" migrate status
one_line "one of two"
contains "one of two" "$err" "migrate.from is set (LOCKSET_MIGRATE_FROM) and migrate.to is not"
exits 78 env -u LOCKSET_MIGRATE_FROM "$lockset" run --write x -- true
contains "the other of two" "$err" "migrate.to is set (LOCKSET_MIGRATE_TO) and migrate.from is not"
exits 64 env -u LOCKSET_MIGRATE_FROM -u LOCKSET_MIGRATE_TO "$lockset" status --migrate-to "$new"
one_line "one of two, by flag"
exits 78 env LOCKSET_URL="$old" "$lockset" status
one_line "url too"
contains "url too" "$err" "url (LOCKSET_URL) and migrate.from (LOCKSET_MIGRATE_FROM) exclude each other"
exits 64 "$lockset" status --url "$old"
contains "url by flag" "$err" "exclude each other"
exits 78 env LOCKSET_PASSWORD_FILE=x "$lockset" status
contains "a password for neither" "$err" "password-file (LOCKSET_PASSWORD_FILE) and migrate.from"
exits 78 alone "$old" "$lockset" migrate status
one_line "no pair"
contains "no pair" "$err" "set migrate.from and migrate.to"
exits 78 env LOCKSET_MIGRATE_TO="$old" "$lockset" migrate plan
one_line "twice the same"
contains "twice the same" "$err" "are the same"
exits 78 env LOCKSET_MIGRATE_TO=memory: "$lockset" migrate plan
contains "one process only" "$err" "one process only"
exits 78 env LOCKSET_MIGRATE_TO=nosuch: "$lockset" migrate plan
contains "no such store" "$err" 'unknown scheme "nosuch:"'
exits 64 "$lockset" migrate
contains "which one" "$err" "plan, start, advance, status, rollback, finish, release-new"
exits 64 "$lockset" migrate advanse
contains "a slip" "$err" "did you mean lockset migrate advance?"
exits 64 "$lockset" migrate advance --to dual
one_line "no phase"
contains "no phase" "$err" "dual-old, dual-new"
exits 64 "$lockset" migrate advance --to finished
contains "the last step" "$err" "lockset migrate finish"
exits 64 "$lockset" migrate status x
exits 0 "$lockset" help migrate
contains "help" "$out" "migrate rollback [--watch] [--to PHASE]"
exits 0 "$lockset" migrate advance --help
contains "help of one" "$out" "--watch"

# Passwords: refused on the command line, read from files, never shown.
secret=hunter2
exits 64 "$lockset" status --migrate-from "nosuch://u:$secret@h/db"
one_line "a password in a flag"
contains "a password in a flag" "$err" LOCKSET_MIGRATE_FROM
contains "a password in a flag" "$err" "migrate.from = ..."
lacks "a password in a flag" "$err$out" "$secret"
printf '%s\n' "$secret" >password
chmod 600 password
for which in FROM TO; do
  exits 78 env "LOCKSET_MIGRATE_$which=nosuch://u@h/db" \
    "LOCKSET_MIGRATE_${which}_PASSWORD_FILE=$work/password" "$lockset" migrate plan
  contains "a password file" "$err" 'nosuch://u:***@h/db'
  lacks "a password file" "$err$out" "$secret"
  for command in "migrate plan" "migrate status" doctor init; do
    # shellcheck disable=SC2086
    exits 78 env "LOCKSET_MIGRATE_$which=nosuch://u:$secret@h/db" "$lockset" $command
    one_line "$command"
    lacks "a password in the address: $command" "$err$out" "$secret"
  done
done
exits 78 env "LOCKSET_MIGRATE_TO_PASSWORD_FILE=$work/none" \
  LOCKSET_MIGRATE_TO=nosuch://u@h/db "$lockset" migrate plan
contains "no password file" "$err" LOCKSET_MIGRATE_TO_PASSWORD_FILE

# From the file, also as a section; a misspelt key.
conf=$XDG_CONFIG_HOME/lockset/lockset.conf
printf 'migrate.from = %s\n[migrate]\nto = %s\n' "$old" "$new" >"$conf"
exits 0 env -u LOCKSET_MIGRATE_FROM -u LOCKSET_MIGRATE_TO "$lockset" migrate status
contains "by the file" "$out" "$new"
printf 'migrate-from = %s\n' "$old" >"$conf"
exits 78 "$lockset" migrate status
contains "a misspelt key" "$err" 'did you mean migrate.from?'
rm "$conf"

# Plan.
exits 0 alone "$old" "$lockset" permits set '*' --read 1000
exits 78 "$lockset" migrate plan
contains "permits" "$out" '"*" (read): 1000 in the old store, the default in the new one'
one_line "plan"
exits 78 "$lockset" migrate start
contains "start says it as well" "$err" '"*" (read): 1000 in the old store'
same "start began nothing" old-only "$(phase)"
exits 0 "$lockset" migrate plan --copy-permits --json
true_that "plan is JSON" is_json "$out"
contains "plan as JSON" "$out" '"copied": 1'
exits 0 alone "$new" "$lockset" permits get x
same "copied" $'read 1000\nwrite 1' "$out"
exits 0 "$lockset" migrate plan
contains "nothing to copy" "$out" "the same in both stores"
exits 78 "$lockset" migrate advance
one_line "advance before start"
contains "advance before start" "$err" "lockset migrate start"
exits 78 "$lockset" migrate rollback
contains "rollback before start" "$err" "nothing to take back"

# The new space is in use.
start alone "$new" "$lockset" run --write theirs --label them -- sh -c \
  'until [ -e theirs_over ]; do sleep 0.02; done'
theirs=$pid
soon held_alone "$new" theirs
exits 78 "$lockset" migrate start
contains "in use" "$err" '"theirs" (write)'
contains "in use by" "$err" 'by them (application'
touch theirs_over
pid=$theirs
ends 0

# Ahead, with a program that follows all the way.
exits 0 "$lockset" migrate start
contains "start" "$out" "shadow: "
start "$lockset" run --write followed --label follower --lease 5s -- sh -c \
  'until [ -e follower_over ]; do sleep 0.02; done'
follower=$pid
soon held followed
# What was observed counts on until the other store gives the stamps; then as changed.
exits 0 "$lockset" observe looked-at
seen=$out
exits 0 "$lockset" migrate advance
contains "advance" "$out" "dual-old: "
exits 0 "$lockset" validate "$seen"
exits 0 "$lockset" migrate status
contains "status" "$out" "1 of shadow"
contains "status, who" "$out" "follower"
exits 0 "$lockset" migrate status --json
true_that "status is JSON" is_json "$out"
contains "status as JSON" "$out" '"follows": true'

# A program with the old configuration blocks dual-new, and gets an error that says why afterwards.
start alone "$old" "$lockset" run --write legacy --label yesterday -- sh -c \
  'until [ -e legacy_over ]; do sleep 0.02; done'
legacy=$pid
soon held_alone "$old" legacy
exits 75 "$lockset" migrate advance
one_line "a client of the old store alone"
contains "what" "$err" '"legacy" (write)'
contains "who" "$err" 'by yesterday (application'
contains "remedy" "$err" 'restart it with migrate.from and migrate.to'
same "refused" dual-old "$(phase)"
start "$lockset" migrate advance --watch >advanced 2>advancing
soon grep -q legacy advancing
touch legacy_over
watcher=$pid
pid=$legacy
ends 0
pid=$watcher
ends 0
contains "watched" "$(cat advanced)" "dual-new: "
same "dual-new" dual-new "$(phase)"
exits 80 "$lockset" run --write looked-at --unless-changed "$seen" -- true
one_line "observed before the other store gave the stamps"
exits 80 "$lockset" validate "$seen"
contains "observed before the other store gave the stamps" "$out" '"looked-at" may have been written'
exits 78 alone "$old" "$lockset" run --write x -- true
one_line "the old store alone"
contains "the old store alone" "$err" "set migrate.from and migrate.to"
exits 78 alone "$new" "$lockset" run --write x -- true
contains "the new store alone" "$err" "still on the move"

# If one store is gone, status shows what the other one knows, and says that it is incomplete.
exits 0 env "LOCKSET_MIGRATE_TO=sqlite:$work/none/new.db" "$lockset" migrate status
contains "without the new store" "$out" "stamps are the new store's (or a later phase)"
contains "without the new store" "$out" "  holds        not known"
exits 0 env "LOCKSET_MIGRATE_TO=sqlite:$work/none/new.db" "$lockset" migrate status --json
contains "without the new store" "$out" '"certain": false'
contains "without the new store" "$out" '"holds_in_new": null'

# The earlier hold, in the old store only, blocks new-only.
exits 75 "$lockset" migrate advance
one_line "a hold of before"
contains "a hold of before" "$err" '"followed" (write)'
contains "its holder" "$err" 'by follower (application'
# If it is interrupted, nothing changes.
start "$lockset" migrate advance --watch --to closed >/dev/null 2>interrupted
soon grep -q followed interrupted
kill -TERM "$pid"
ends 143
contains "interrupted" "$(cat interrupted)" "stopped between two steps, in phase dual-new"
same "interrupted" dual-new "$(phase)"
touch follower_over
pid=$follower
ends 0

began=$(milliseconds)
exits 0 "$lockset" migrate advance --to new-only
contains "new-only" "$out" "new-only: "
true_that "two looks, 10 s apart" test $(($(milliseconds) - began)) -ge 10000
exits 0 "$lockset" run --write x -- true
exits 0 alone "$new" "$lockset" run --write x -- true
exits 64 "$lockset" migrate advance --to dual-old
contains "the wrong way" "$err" "lockset migrate rollback"
exits 64 "$lockset" migrate rollback --to closed
contains "the wrong way back" "$err" "lockset migrate advance"
exits 0 "$lockset" migrate advance --to new-only
contains "there already" "$out" "new-only: "
exits 0 "$lockset" migrate advance
contains "closed" "$out" "closed: "
exits 78 alone "$old" "$lockset" run --write x -- true
contains "closed" "$err" "has moved to another store and is closed"
exits 78 "$lockset" migrate advance
contains "what is left" "$err" "lockset migrate finish"

# All the way back, and stamps continue to grow.
stamp=$("$lockset" acquire --write y --lease 1s)
exits 0 "$lockset" migrate rollback --to dual-new
same "back, each step" $'new-only: holds stand in the new store alone
dual-new: holds stand in both stores; stamps are the new store'\''s' "$out"
exits 0 "$lockset" migrate rollback --watch --to old-only
contains "back" "$out" "old-only: "
exits 0 "$lockset" run --write y -- sh -c 'echo "$LOCKSET_STAMP"'
true_that "stamps went on" test "$out" -gt "$stamp"
exits 0 alone "$old" "$lockset" run --write y -- true

# The new space stays shut until somebody releases it.
exits 78 alone "$new" "$lockset" run --write y -- true
one_line "the new space after the way back"
contains "the new space after the way back" "$err" "lockset migrate release-new"
exits 0 "$lockset" migrate status
contains "it is told" "$out" "the new space is kept for the move"
exits 0 "$lockset" migrate status --json
contains "it is told as JSON" "$out" '"new_space_kept": true'
exits 78 "$lockset" migrate rollback
contains "nothing to take back" "$err" "lockset migrate release-new"
exits 78 env "LOCKSET_MIGRATE_FROM=sqlite:$work/none/old.db" "$lockset" migrate release-new
one_line "without the old store"
contains "without the old store" "$err" "the old store: "
exits 0 "$lockset" migrate release-new --json
true_that "release-new is JSON" is_json "$out"
contains "release-new as JSON" "$out" '"new_space_kept": false'
exits 0 alone "$new" "$lockset" run --write y -- true
exits 0 "$lockset" migrate release-new
contains "once more" "$out" "the new space is free"
exits 0 "$lockset" migrate start
exits 78 "$lockset" migrate release-new
one_line "release-new under way"
contains "release-new under way" "$err" "lockset migrate rollback --to old-only"
# Without the old store only if the caller says that it is gone.
exits 0 env "LOCKSET_MIGRATE_FROM=sqlite:$work/none/old.db" \
  "$lockset" migrate release-new --old-store-gone
exits 0 alone "$new" "$lockset" run --write y -- true
exits 0 "$lockset" migrate rollback --to old-only

# Now to the end.
exits 0 "$lockset" migrate start
exits 0 "$lockset" migrate advance --watch --to closed
exits 64 "$lockset" migrate finish </dev/null
one_line "nobody to ask"
contains "nobody to ask" "$err" "--yes"
same "not finished" closed "$(phase)"
# On a terminal it asks.
exits 75 script -qfec "$lockset migrate finish" /dev/null < <(echo no)
contains "the question" "$out" "There is no way back after this."
same "no" closed "$(phase)"
exits 0 script -qfec "$lockset migrate finish" /dev/null < <(echo yes)
same "yes" finished "$(phase)"
exits 0 "$lockset" migrate finish --yes
contains "finished" "$out" "there is no way back"
exits 0 "$lockset" migrate finish
exits 78 "$lockset" migrate rollback
contains "no way back" "$err" "no way back"
exits 0 alone "$new" "$lockset" run --write x -- true
exits 0 "$lockset" run --write x -- true

# One store is gone: the other still answers.
rm old.db*
mkdir old.db
exits 0 "$lockset" migrate status
contains "with one store" "$out" "finished: "
contains "with one store" "$out" "note  "
finish
