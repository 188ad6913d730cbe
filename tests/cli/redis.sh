# The command on Redis: the tests of every store, and the failures of this one.
#
#   redis.sh PATH-OF-LOCKSET
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/server_lib.sh
. "$tests/server_lib.sh"
begin_server redis
redis() { REDISCLI_AUTH=$secret redis-cli -e -h 127.0.0.1 -p "$port" "$@"; }
here=127.0.0.1:$port

missing_space
make_space

# A server that may delete locks: doctor says so, and open refuses it.
exits 0 redis config set maxmemory 1gb maxmemory-policy allkeys-lru
exits 78 at "$admin_url" doctor
contains 'a server that evicts' "$(printf '%s\n' "$out" | grep '^unsafe')" maxmemory-policy
refused 78 maxmemory-policy at "$admin_url" run --write x -- touch "$work/ran"
false_that 'a command ran where locks may vanish' test -e "$work/ran"
exits 0 redis config set maxmemory-policy noeviction
exits 0 at "$admin_url" doctor
# A server that forgets when it restarts: a warning.
exits 0 redis config set appendonly no
exits 0 at "$admin_url" doctor
contains 'a server without persistence' "$(printf '%s\n' "$out" | grep '^warning')" appendonly
exits 0 redis config set appendonly yes

# Typos.
typos
refused 78 nobody at "redis://nobody:$secret@$here/0" status
refused 78 password at "redis://:wrong-password@$here/0" status
lacks 'a wrong password' "$err" wrong-password
refused 78 password at "redis://$here/0" status
refused 78 '99' at "redis://:$secret@$here/99" status
refused 64 LOCKSET_URL "$lockset" status --url "$admin_url"

# Other places for the password, other ways to reach the server.
printf '%s\n' "$secret" >password
chmod 600 password
plain=redis://$here/0
exits 0 "$lockset" status --url "$plain" --password-file password
exits 0 env LOCKSET_URL="$plain" LOCKSET_PASSWORD_FILE=password "$lockset" status
exits 0 env "REDISCLI_AUTH=$secret" "$lockset" status --url "$plain"
exits 0 "$lockset" status --url "$plain?password_file=$work/password"
exits 0 "$lockset" status --url "redis://lockset_admin@$here/0" --password-file password
exits 0 at "redis://:$secret@$here" status
exits 0 at "redis://:$secret@localhost/0?socket=$server_dir/socket/redis.sock" status
shown_nowhere "$plain"

# The server itself makes the space, so there is no script.
exits 64 at "$plain" init --print
one_line 'no script'

# Roles: a program may lock; an operator may also change what others are granted.
exits 0 redis acl setuser app on '>open-sesame'
exits 0 at "$admin_url" init --program app
contains 'a role' "$out" 'app may lock in it as a program'
as_app=redis://app:open-sesame@$here/0
exits 0 at "$as_app" run --write roles -- true
refused 78 'init --operator app' at "$as_app" permits set roles --read 1000
refused 78 'init --operator app' at "$as_app" init --max-lease 1h
stamp=$(at "$admin_url" acquire --write roles --lease 1m)
refused 78 'init --operator app' at "$as_app" break "$stamp"
exits 0 at "$admin_url" release "$stamp"
exits 0 at "$admin_url" init --operator app
exits 0 at "$as_app" permits set roles --read 1000
exits 0 at "$as_app" permits unset roles
refused 78 nobody at "$admin_url" init --program nobody
exits 64 at "$admin_url" init --program 'a b'
one_line 'no name of a user'
exits 0 at "$plain" init --print --program app
printf '%s' "$out" | redis >applied
contains 'a script' "$(cat applied)" OK
refused 78 'init --operator app' at "$as_app" permits set roles --read 1000
exits 0 redis acl deluser app

for name in run permits guard lost signals observe; do story "$name" '' "$name"; done
story stamps '' stamps leases-only
story concurrent '' concurrent 10

# A server is killed during a job and comes back: the job never notices. But nobody can know what
# else was lost, so nothing new is granted until the longest lease is over.
crash=$admin_url?space=crash
exits 0 at "$crash" init --max-lease 10s
start env "LOCKSET_URL=$crash" "$lockset" run --write x --lease 10s -- \
  sh -c 'echo "$LOCKSET_STAMP" >stamp; while [ ! -e finish ]; do sleep 0.02; done'
job=$pid
soon filled stamp
server kill
refused 69 "$here" at "$crash" run --write y -n -- touch "$work/ran"
refused 69 "$here" at "$crash" status
refused 69 "$here" at "$crash" doctor
openers_wait
server start
refused 69 'no new grants' at "$crash" run --write y -n -- touch "$work/ran"
refused 69 "$here" at "$crash" observe y
false_that 'a command ran under quarantine' test -e "$work/ran"
exits 0 at "$crash" status
contains 'status under quarantine' "$out" 'quarantine: '
contains 'status under quarantine: how long' "$out" 'no new grants for another '
exits 0 at "$crash" status --json
contains 'status --json under quarantine' "$out" '"quarantine_ms": '
exits 0 at "$crash" metrics
true_that "metrics under quarantine" grep -qE "^lockset_quarantine_seconds\{.*\} [1-9]" <<<"$out"
same 'held all the same' "$(cat stamp)" "$(LOCKSET_URL=$crash stamp_of x)"
granted_again() { at "$crash" run --write y -n -- sh -c 'echo "$LOCKSET_STAMP"' >next 2>>waits; }
soon granted_again
true_that 'the next stamp is greater' test "$(cat next)" -gt "$(cat stamp)"
exits 0 at "$crash" status
lacks 'status after the quarantine' "$out" quarantine
exits 0 at "$crash" status --json
lacks 'status --json after the quarantine' "$out" quarantine
exits 75 at "$crash" run --write x -n -- true
touch finish
pid=$job
ends 0
opener_is_served

away_too_long
finish
