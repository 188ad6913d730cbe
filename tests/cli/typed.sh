# The command as people type it: bare names, a line for the shell, status for eyes and for monitoring,
# guesses at what was meant.
. "$(dirname "$0")/lib.sh"

# A bare name is written.
exits 0 "$lockset" run nightly -- sh -c 'echo "$LOCKSET_NAMES"'
same "a bare name" 'write nightly' "$out"
exits 0 "$lockset" run b a --read c -n -- sh -c 'echo "$LOCKSET_NAMES"'
same "bare names beside others" $'write a\nwrite b\nread c' "$out"
stamp=$("$lockset" acquire taken --lease 10m)
exits 75 "$lockset" run taken -n -q -- true
same "-q" '' "$out$err"
exits 0 "$lockset" release "$stamp"

# A line for the shell.
exits 0 "$lockset" run nightly -c 'echo one two | tr " " "\n" | wc -l; exit 0'
same "a pipe" 2 "$((out))"
exits 3 "$lockset" run --write nightly -c 'test -n "$LOCKSET_STAMP" && exit 3'
exits 64 "$lockset" run nightly -c true -- true
contains "both" "$err" '-c LINE and -- COMMAND'
exits 64 "$lockset" run -c true
contains "no name" "$err" 'no lock is named'
exits 64 "$lockset" run nightly -c ''
contains "an empty line" "$err" 'which command'
exits 64 "$lockset" run nightly echo hi
contains "no --" "$err" 'lockset run nightly -- echo'
exits 64 "$lockset" run nightly
contains "no command" "$err" 'which command'

# status: the oldest first, the waiters after them, and what it adds up to.
exits 0 "$lockset" status
same "nothing" 'nothing is held' "$out"
first=$("$lockset" acquire zebra --lease none)
soon sh -c 'test "$("$1" status zebra --older-than 1s | wc -l)" -gt 1' sh "$lockset"
hold apple
start "$lockset" run apple -- true
waiter=$pid
soon waiting apple
exits 0 "$lockset" status
same "the order" 'zebra apple apple' "$(sed 1d <<<"$out" | sed '$d' | awk '{print $1}' | paste -sd' ')"
contains "ages" "$(head -n 1 <<<"$out")" AGE
contains "the sum" "$(tail -n 1 <<<"$out")" '2 holds, the oldest for '
contains "the sum of waiters" "$(tail -n 1 <<<"$out")" '; 1 waiter, the longest for '
exits 0 env TZ=UTC "$lockset" status zebra
contains "no waiter" "$(tail -n 1 <<<"$out")" '1 hold, the oldest for '
contains "no waiter" "$(tail -n 1 <<<"$out")" '; no waiters'

# On a narrow terminal each line stays one line: what says least is left out.
screen() { # COLUMNS: the table on a terminal with so many
  script -qfec "stty cols $1; $lockset status" /dev/null </dev/null | tr -d '\r'
}
widest() { awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }'; }
wide=$(screen 200) narrow=$(screen 80) narrower=$(screen 60)
contains "a wide terminal" "$wide" SINCE
contains "80 columns" "$narrow" LABEL
same "80 columns" yes "$([ "$(widest <<<"$narrow")" -le 80 ] && echo yes)"
same "80 columns" 0 "$(grep -c SINCE <<<"$narrow")"
contains "60 columns" "$narrower" 'ENDS IN'
same "60 columns" yes "$([ "$(sed '$d' <<<"$narrower" | widest)" -le 60 ] && echo yes)"
contains "no terminal" "$("$lockset" status)" SINCE

# For monitoring.
exits 0 "$lockset" status --older-than 1h
same "nothing that old" 'nothing is older' "$out"
exits 1 "$lockset" status zebra --older-than 1s
contains "something that old" "$out" zebra
exits 1 "$lockset" status --older-than 1s --json
contains "for programs" "$out" '"zebra"'
exits 64 "$lockset" status --older-than soon
one_line "a bad age"

# --watch follows it until a signal.
"$lockset" status apple --watch >watched 2>&1 &
pid=$!
started+=("$pid")
soon grep -q apple watched
pid=$waiter
release_it
ends 0
soon grep -q 'nothing is held' watched
pid=${started[-1]}
kill -TERM "$pid"
ends 143
exits 0 "$lockset" release "$first"

# Durations.
exits 0 "$lockset" run nightly --lease 1m30s -w 1h30m -- true
exits 64 "$lockset" run nightly -w 30sec -- true
contains "30sec" "$err" 'did you mean 30s?'

# Guesses.
guess() {
  exits 64 "$lockset" $1
  one_line "$1"
  contains "$1" "$err" "did you mean lockset $2?"
}
guess list status
guess ls status
guess lock run
guess unlock release
guess permit permits
guess 'stat' status
exits 0 "$lockset" -V
contains "-V" "$out" 'lockset '

# The common options come first.
exits 0 "$lockset" help run
true_that "they come before the long text" \
  test "$(grep -n '^Common options' <<<"$out" | cut -d: -f1)" -lt "$(grep -n 'all or none\|none of it' <<<"$out" | head -n 1 | cut -d: -f1)"
true_that "and before the rarer ones" \
  test "$(grep -n -- '--no-wait' <<<"$out" | head -n 1 | cut -d: -f1)" -lt "$(grep -n -- '--on-lost' <<<"$out" | head -n 1 | cut -d: -f1)"

# Root's default file is another one than that of a user who has one. Looks into a list of users that
# only this test sees.
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  mkdir -p other/.local/state/lockset
  printf 'root:x:0:0::%s:/bin/sh\nwww:x:33:33::%s/other:/bin/sh\n' "$HOME" "$work" >passwd
  as_root() {
    unshare --mount sh -c 'mount --bind passwd /etc/passwd && exec "$@"' sh env -u LOCKSET_URL "$@"
  }
  exits 0 as_root "$lockset" run x -- true
  same "nobody else has one" '' "$err"
  touch other/.local/state/lockset/lockset.db
  exits 0 as_root "$lockset" run x -- true
  one_line "somebody has one"
  contains "who" "$err" '"www"'
  contains "what to do" "$err" /etc/lockset.conf
  exits 0 as_root "$lockset" run x --url "sqlite:$work/locks.db" -- true
  same "a store that is named" '' "$err"

  # There is a place for all users, and a user's own settings do without it.
  chmod 755 "$work"
  mkdir -m 777 theirs
  as_user() {
    unshare --mount sh -c 'mount -t tmpfs none /var/lib && mkdir -m 2770 /var/lib/lockset && exec "$@"' sh \
      setpriv --reuid 33 --regid 33 --clear-groups env -u LOCKSET_URL HOME="$work/theirs" \
      XDG_STATE_HOME="$work/theirs" XDG_CONFIG_HOME="$work/theirs" "$@"
  }
  if as_user test -x "$lockset"; then # not in a folder of root's own
    exits 0 as_user "$lockset" run x -- true
    one_line "a place for all users"
    contains "which" "$err" 'sqlite:/var/lib/lockset/locks.db'
    exits 0 as_user "$lockset" run x --url "sqlite:$work/theirs/named.db" -- true
    same "a store that is named" '' "$err"
  fi
fi
finish
