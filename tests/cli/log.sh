# --log: what the command says as text, as JSON or to syslog; and the audit lines.
. "$(dirname "$0")/lib.sh"

# value PATH: of the last line on standard error, which is one JSON object; "audit.action".
value() {
  printf '%s\n' "$err" | tail -n 1 | python3 -c '
import json, sys
found = json.load(sys.stdin)
for word in sys.argv[1].split("."): found = found[word]
print(found)' "$1"
}
one_object() {
  same "$1: lines" 1 "$(printf '%s\n' "$err" | wc -l)"
  true_that "$1: an object" test -n "$(value message)"
}

# The command's own lines.
exits 0 "$lockset" acquire x --lease 10m
stamp=$out
exits 75 "$lockset" run x -n --log json -- true
one_object "busy"
same "busy" error "$(value severity)"
true_that "when" grep -qE '^20[0-9-]{8}T[0-9:]{8}Z$' <<<"$(value time)"
true_that "whose" test "$(value pid)" -gt 1
lacks "what" "$err" 'lockset: '
exits 75 env LOCKSET_LOG=json "$lockset" run x -n -- true
one_object "from the environment"
printf 'log = json\n' >"$XDG_CONFIG_HOME/lockset/lockset.conf"
exits 75 "$lockset" run x -n -- true
one_object "from the file"
exits 75 "$lockset" run x -n --log text -- true
one_line "the flag is stronger"
rm "$XDG_CONFIG_HOME/lockset/lockset.conf"
exits 64 "$lockset" run x --log jsn -- true
one_line "no such form"
contains "no such form" "$err" 'text, json and syslog'
exits 64 env LOCKSET_LOG=json "$lockset" nonsense
one_object "before the command is known"
exits 0 env LOCKSET_LAESE=3s LOCKSET_LOG=json "$lockset" status
one_object "a warning"
same "a warning" warning "$(value severity)"
lacks "its word stands once" "$err" 'warning: '
exits 64 "$lockset" release $'7\n"\\\xff' --log json
one_object "any bytes"
exits 79 "$lockset" run lost --lease 2s --log json -- sh -c '"$1" break "$LOCKSET_STAMP"; sleep 100' sh "$lockset" 2>&1
contains "a lost lock" "$err" '"severity":"error"'

# Audit: who broke what.
exits 0 env LOCKSET_LABEL='alice, by phone' "$lockset" break "$stamp"
one_line "break"
for part in 'audit: ' "$(id -un)@$(uname -n)" 'alice, by phone' "$stamp" 'write "x"' 'Z: '; do
  contains "break" "$err" "$part"
done
exits 1 "$lockset" break "$stamp"
lacks "nothing was broken" "$err" audit
exits 0 "$lockset" acquire y --lease 10m --app batch
exits 0 "$lockset" break "$out" --log json
one_object "break"
same "break" notice "$(value severity)"
same "the deed" break "$(value audit.action)"
same "who" "$(id -un)" "$(value audit.user)"
same "where" "$(uname -n)" "$(value audit.host)"
same "which space" "$LOCKSET_URL" "$(value audit.space)"
contains "whose hold" "$(value audit.what)" '"batch"'

# Who changed permits, the longest lease, or a phase.
exits 0 "$lockset" permits set x --read 3 --write 2 --log json
same "each change" 2 "$(printf '%s\n' "$err" | wc -l)"
same "permits" 'permits set' "$(value audit.action)"
same "permits" '"x": write 2' "$(value audit.what)"
exits 0 "$lockset" permits unset x --read
same "permits" 1 "$(printf '%s\n' "$err" | grep -c 'audit: .*permits unset: "x": read$')"
exits 0 "$lockset" init --max-lease 20m
contains "init" "$err" 'longest lease 20m'
exits 0 "$lockset" init
same "init that changes nothing" '' "$err"
export LOCKSET_MIGRATE_FROM="sqlite:$work/old.db" LOCKSET_MIGRATE_TO="sqlite:$work/new.db"
steps() { # STEPS COMMAND...: how many phases it went
  local expected=$1
  shift
  exits 0 env -u LOCKSET_URL "$lockset" "$@" --log json
  same "$*" "$expected" "$(printf '%s\n' "$err" | grep -c '"action":"migrate ')"
}
steps 1 migrate start
steps 0 migrate start
steps 1 migrate advance
contains "which stores" "$(value audit.space)" new.db
steps 2 migrate rollback --to old-only
steps 0 migrate rollback --to old-only
steps 1 migrate release-new
unset LOCKSET_MIGRATE_FROM LOCKSET_MIGRATE_TO

# No secret in any form.
exits 78 env LOCKSET_URL=nosuch://app:geheim@127.0.0.1:1/x "$lockset" status --log json
contains "a password" "$err" 'app:***@'
lacks "a password" "$err" geheim

# To syslog, also if standard error is closed. This test alone sees its /dev.
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  mkdir dev
  with_dev() {
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount -t tmpfs none dev && for each in null zero urandom; do
        touch "dev/$each" && mount --bind "/dev/$each" "dev/$each"; done &&
      mount --move dev /dev && exec "$@"' sh "$@"
  }
  with_syslog() { # COMMAND...: prints what arrived, after the command's own output
    # shellcheck disable=SC2016
    with_dev perl -MIO::Socket::UNIX -e '
      my $log = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "/dev/log") or die "no socket: $!";
      my $code = system { $ARGV[0] } @ARGV;
      $log->blocking(0);
      while (defined $log->recv(my $line, 65536)) { print "$line\n" }
      exit $code >> 8' "$@"
  }
  exits 0 "$lockset" acquire z --lease 10m
  stamp=$out
  exits 75 with_syslog sh -c 'exec "$@" 2>&-' sh "$lockset" run z -n --log syslog -- true
  contains "syslog" "$out" 'not free'
  contains "an error of the user's facility" "$out" '<11>'
  contains "with its process" "$out" 'lockset['
  exits 0 with_syslog "$lockset" break "$stamp" --log syslog
  contains "an audit line" "$out" '<13>'
  contains "an audit line" "$out" "audit: "
  same "nothing on standard error" '' "$err"
  # Nobody listens: then standard error is told.
  exits 0 "$lockset" acquire z --lease 10m
  exits 75 with_dev "$lockset" run z -n --log syslog -- true
  contains "no syslog" "$err" '/dev/log'
  contains "no syslog" "$err" 'not free'
fi
finish
