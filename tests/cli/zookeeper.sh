# The command on ZooKeeper: the tests of every store, and the failures of this one.
#
#   zookeeper.sh PATH-OF-LOCKSET
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/server_lib.sh
. "$tests/server_lib.sh"
begin_server zookeeper
here=127.0.0.1:$port
# A user is created by its first use.
admin_url=zookeeper://app:$secret@$here

missing_space
make_space

# Typos.
typos
refused 78 '"strategy"' at "$admin_url?strategy=x" status
refused 78 app at "zookeeper://app:wrong-password@$here" status
lacks 'a wrong password' "$err" wrong-password
refused 78 "$here" at "zookeeper://$here" status
refused 78 'lockset init' at "zookeeper://app:$secret@$here/nowhere" status
refused 64 LOCKSET_URL "$lockset" status --url "$admin_url"

# Other places for the password.
printf '%s\n' "$secret" >password
chmod 600 password
plain=zookeeper://app@$here
exits 0 "$lockset" status --url "$plain" --password-file password
exits 0 env LOCKSET_URL="$plain" LOCKSET_PASSWORD_FILE=password "$lockset" status
exits 0 env "ZOOKEEPER_PASSWORD=$secret" "$lockset" status --url "$plain"
exits 0 "$lockset" status --url "$plain?password_file=$work/password"
shown_nowhere "$plain"

# Below a path; without a user, if wanted; with an unreachable server among others.
exits 0 at "zookeeper://$here/jobs/nightly?space=open" init
exits 0 at "zookeeper://$here/jobs/nightly?space=open" run --write x -- true
exits 0 at "zookeeper://127.0.0.1:1,$here/jobs/nightly?space=open" run --write x -- true

# A hold ends with its process here.
refused 64 'lockset run' at "$admin_url" acquire --write x --lease 1m
refused 64 lease at "$admin_url" run --write x --lease none -- touch "$work/ran"
refused 64 lease at "$admin_url" run --write x --lease 1h -- touch "$work/ran"
false_that 'a command ran without its lease' test -e "$work/ran"
exits 64 at "$plain" init --print
one_line 'no script'

for name in run permits guard lost signals; do story "$name" '' "$name"; done
story concurrent '' concurrent 10
story observe '' observe no-acquire

killed_and_back
away_too_long
finish
