# metrics: the numbers of a space for Prometheus, printed or written to a file at once.
. "$(dirname "$0")/lib.sh"

space="store=\"sqlite\",space=\"sqlite:$work/locks.db\""
# value NAME [LABEL]: of the last metrics
value() { printf '%s\n' "$out" | sed -n "s|^$1{$space${2:+,$2}} ||p"; }
# above NAME SECONDS, below NAME SECONDS
above() { true_that "$1: $(value "$1") > $2" awk "BEGIN { exit !($(value "$1") > $2) }"; }
below() { true_that "$1: $(value "$1") <= $2" awk "BEGIN { exit !($(value "$1") <= $2) }"; }

# A space that is not there is down: it is not made.
exits 78 "$lockset" metrics
one_line "no space"
contains "no space" "$err" 'lockset init'
same "no space" 0 "$(value lockset_up)"
same "why" 1 "$(value lockset_error 'code="misconfigured"')"
same "nothing else is known" '' "$(value lockset_holds)"
false_that "it makes no database" test -e locks.db

exits 0 "$lockset" init
exits 0 "$lockset" metrics
same "nothing on standard error" '' "$err"
same "up" 1 "$(value lockset_up)"
same "no error" '' "$(printf '%s\n' "$out" | grep lockset_error)"
for name in holds holds_without_lease holds_expiring_soon waiters; do
  same "an empty space: $name" 0 "$(value "lockset_$name")"
done
for name in longest_hold_seconds oldest_wait_seconds quarantine_seconds; do
  same "an empty space: $name" 0 "$(value "lockset_$name")"
done
same "doctor" 0 "$(value lockset_doctor_findings 'level="unsafe"')"

# Holds, a waiter, and their ages.
exits 0 "$lockset" acquire --write a --write b --lease none
exits 0 "$lockset" acquire --write c --lease 10m
start "$lockset" run --write a -- true
waiter=$pid
soon waiting a
aged() { exits 0 "$lockset" metrics; awk "BEGIN { exit !($(value lockset_oldest_wait_seconds) > 0.1) }"; }
soon aged
same "holds, not names" 2 "$(value lockset_holds)"
same "one without a lease" 1 "$(value lockset_holds_without_lease)"
same "none expires soon" 0 "$(value lockset_holds_expiring_soon)"
same "a waiter" 1 "$(value lockset_waiters)"
above lockset_longest_hold_seconds 0.1
below lockset_longest_hold_seconds 600
above lockset_call_seconds 0
# A hold without a lease never expires.
exits 0 "$lockset" metrics --expiring-within 1h
same "what expires in an hour" 1 "$(value lockset_holds_expiring_soon)"
exits 0 "$lockset" break "$(stamp_of a)"
pid=$waiter
ends 0

# Each metric has its help and its type, before its samples and only once.
for kind in HELP TYPE; do
  same "each $kind" "$(printf '%s\n' "$out" | sed -n 's/^\(lockset_[a-z_]*\){.*/\1/p' | uniq)" \
    "$(printf '%s\n' "$out" | sed -n "s/^# $kind \(lockset_[a-z_]*\) .*/\1/p")"
done

# Into a file: the old one or the new one, never a part. Nothing else stays in the folder.
mkdir textfile
exits 0 "$lockset" metrics --output textfile/lockset.prom
same "printed" '' "$out"
same "one file" lockset.prom "$(ls -A textfile)"
same "others may read it" 644 "$(stat -c %a textfile/lockset.prom)"
before=$(stat -c %i textfile/lockset.prom)
exec 7<textfile/lockset.prom
exits 78 "$lockset" metrics --output textfile/lockset.prom --url "sqlite:$work/nowhere/locks.db"
one_line "a store that does not answer"
same "the new file" "$(cat textfile/lockset.prom | grep -c '^lockset_up{.*} 0$')" 1
true_that "another file" test "$before" != "$(stat -c %i textfile/lockset.prom)"
same "who had it open still has all of it" 1 "$(grep -c '^lockset_up{.*} 1$' <&7)"
exec 7<&-
same "one file" lockset.prom "$(ls -A textfile)"

# What can't be written.
exits 74 "$lockset" metrics --output nowhere/lockset.prom
one_line "no folder"
contains "no folder" "$err" nowhere/lockset.prom
exits 64 "$lockset" metrics --output textfile
one_line "a folder"
mkfifo pipe
exits 64 "$lockset" metrics --output pipe
one_line "no regular file"
true_that "it is still there" test -p pipe
mkdir full
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  on_small_disk() {
    unshare --mount sh -c 'mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero >full/it; "$@"; code=$?
      ls -A full >listing; exit $code' sh "$@"
  }
  exits 74 on_small_disk "$lockset" metrics --output full/lockset.prom
  one_line "no space left"
  same "no part of a file stays" it "$(cat listing)"
fi

# No secret, and no label that breaks the format.
export LOCKSET_URL='nosuch://app:geheim"\@127.0.0.1:1/x'
exits 78 "$lockset" metrics
lacks "a password" "$out$err" geheim
contains "no password" "$out" 'store="nosuch",space="nosuch://app:***@'
export LOCKSET_URL="sqlite:$work/lo\"ck\\s.db"
exits 0 "$lockset" init
exits 0 "$lockset" metrics
contains "a quoted label" "$out" "space=\"sqlite:$work/lo\\\"ck\\\\s.db\"} 1"

exits 64 "$lockset" metrics now
one_line "an operand"
exits 64 "$lockset" metrics --expiring-within soon
one_line "no duration"
finish
