# A quorum of SQLite files from the shell: init, run, status, break, doctor, a node that is gone, and
# what is refused in one line.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
node() { printf %s "$1" | sed 's/%/%25/g; s/:/%3A/g; s/\//%2F/g; s/?/%3F/g; s/&/%26/g; s/=/%3D/g; s/@/%40/g'; }
of() { # ADDRESS...
  local url=quorum: sign=? each
  for each; do
    url+="${sign}of=$(node "$each")"
    sign='&'
  done
  printf %s "$url"
}
a=sqlite:$work/a.db b=sqlite:$work/b.db c=sqlite:$work/c.db
LOCKSET_URL=$(of "$a" "$b" "$c")
export LOCKSET_URL

# Before init it is no quorum yet.
exits 78 "$lockset" run --write x -- true
one_line 'not initialised'
contains 'not initialised' "$err" 'lockset init'
exits 0 "$lockset" init
exits 0 "$lockset" init
exits 0 "$lockset" run --write x -- true
exits 0 "$lockset" doctor
contains doctor "$out" '3 of 3 nodes count'
exits 78 env LOCKSET_URL="$a" "$lockset" run --write x -- true
contains 'a node alone' "$err" 'node of a quorum'

# Held, seen and broken by its stamp.
exits 0 "$lockset" acquire --write nightly --lease 1m
stamp=$out
exits 75 "$lockset" run --no-wait --write nightly -- true
exits 0 "$lockset" status nightly
contains status "$out" "${stamp%% *}"
exits 0 "$lockset" break "${stamp%% *}"
exits 0 "$lockset" run --no-wait --write nightly -- true

exits 0 "$lockset" permits set '*' --read 1000000000
exits 64 "$lockset" permits set x --write 2
one_line 'counted permits'

# A node is gone, and is set up again.
rm -f "$work"/c.db*
exits 0 "$lockset" run --write x -- true
exits 0 "$lockset" init
exits 0 "$lockset" run --write x -- true
"$lockset" doctor >found 2>&1
contains 'it waits' "$(cat found)" 'counts once the leases of before have ended'

# Secrets: none on the command line, none in a message.
exits 0 "$lockset" status --url "$LOCKSET_URL"
server=redis://:hidden@127.0.0.1:1/
exits 64 "$lockset" status --url "$(of "$a" "$b" "$server")"
lacks 'a secret in a flag' "$err" hidden
exits 69 env LOCKSET_URL="$(of "$server" "$server?space=x" "$server?space=y")" "$lockset" status
one_line 'no majority'
lacks 'a secret in a message' "$err" hidden
exits 78 env LOCKSET_PASSWORD_FILE=x "$lockset" status
one_line 'a password for all'

# What is no quorum.
exits 78 env LOCKSET_URL="$(of "$a" "$b")" "$lockset" status
one_line 'two'
contains two "$err" 'names 2 lock spaces'
exits 78 env LOCKSET_URL="$(of "$a" "$b" memory:)" "$lockset" status
one_line memory
exits 78 env LOCKSET_URL="$(of "$a" "$a?synchronous=full" "$a?synchronous=normal")" "$lockset" run --write x -- true
one_line 'the same file twice'
finish
