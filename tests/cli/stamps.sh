# acquire, renew, release, break and status: holds across processes.
. "$(dirname "$0")/lib.sh"

exits 0 "$lockset" acquire --write b --read a --lease 60s --label 'by hand'
stamp=$out
true_that "a stamp is printed" test "$stamp" -gt 0
exits 75 "$lockset" acquire --write a --lease 60s -n
exits 0 "$lockset" status
contains "table" "$out" "$stamp"
contains "table" "$out" "by hand"
same "a header, a line for each name, and the sum" 4 "$(printf '%s\n' "$out" | wc -l)"
exits 0 "$lockset" status --json
contains "JSON" "$out" "\"stamp\": $stamp"
contains "JSON" "$out" '"label": "by hand"'
contains "JSON" "$out" '"mode": "read"'
remaining=$(printf '%s\n' "$out" | sed -n 's/.*"remaining_ms": \([0-9]*\).*/\1/p')
true_that "remaining lease $remaining" test "$remaining" -gt 50000 -a "$remaining" -le 60000
exits 0 "$lockset" status nothing
same "of a free name" "nothing is held" "$out"
exits 0 "$lockset" status a
contains "by name" "$out" "$stamp"
exits 0 "$lockset" status --prefix b
contains "by prefix" "$out" "$stamp"

exits 0 "$lockset" renew "$stamp" --lease 5m
same "the renewed lease" 5m "$out"
remaining=$("$lockset" status --json | sed -n 's/.*"remaining_ms": \([0-9]*\).*/\1/p')
true_that "renewed ($remaining)" test "$remaining" -gt 200000

# Another application may neither renew nor release; the message says who we are.
exits 1 "$lockset" release "$stamp" --app somebody-else
contains "not held" "$err" '"somebody-else"'
contains "not held" "$err" '--app'
exits 1 "$lockset" renew "$stamp" --app somebody-else
true_that "still held" held a
exits 0 "$lockset" release "$stamp"
exits 1 "$lockset" release "$stamp"
exits 1 "$lockset" renew "$stamp"
exits 1 "$lockset" break "$stamp"
true_that "free" free a

# A hold without an end of its lease; anybody may break it. With the second argument "leases-only"
# the store keeps no such hold, and says so.
if [ "${2:-}" = leases-only ]; then
  exits 64 "$lockset" acquire --write for-ever --lease none --app one
  contains "a store of leases" "$err" lease
  exits 0 "$lockset" acquire --write for-ever --lease 60s --app one
else
  exits 0 "$lockset" acquire --write for-ever --lease none --app one
  contains "never ends" "$("$lockset" status --json)" '"remaining_ms": null'
  contains "never ends" "$("$lockset" status)" never
fi
stamp=$out
exits 0 "$lockset" break "$stamp"
true_that "broken" free for-ever

# The lease ends on its own, and the next stamp is greater.
exits 0 "$lockset" acquire --write short --lease 1s
stamp=$out
exits 0 "$lockset" acquire --write short --lease 1s -w 15s
true_that "the next stamp is greater" test "$out" -gt "$stamp"

# Names with blanks and wide characters can be told apart; bytes that a terminal would obey are not
# printed.
exits 0 "$lockset" acquire --write 'end ' --write '日本' --lease 60s --label $'evil\033[31m'
exits 0 "$lockset" status
contains "trailing blank" "$out" '"end "'
contains "wide" "$out" '日本'
lacks "escape sequences" "$out" $'\033'
exits 0 "$lockset" init --max-lease 20s
exits 64 "$lockset" acquire --write capped --lease 60s
contains "a lease that the space does not grant" "$err" 20s
# Without --lease, the default is reduced to the space's longest lease.
exits 0 "$lockset" acquire --write capped --lease 15s
exits 0 "$lockset" renew "$out"
same "the renewed lease is the longest that there is" 20s "$out"
finish
