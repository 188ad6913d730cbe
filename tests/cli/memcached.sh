# The command on memcached: what it says, and the failures of this store.
#
#   memcached.sh PATH-OF-LOCKSET
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/server_lib.sh
. "$tests/server_lib.sh"
begin_server memcached
admin_url=memcached://127.0.0.1:$port

missing_space

# A new space grants nothing for a while, unless a person says that it is the first one.
exits 0 at "$admin_url/careful" init
exits 0 at "$admin_url/careful" doctor
contains 'the quarantine of a new space' "$out" 'no new grants'
refused 69 'no new grants' at "$admin_url/careful" run --write x -n -- touch "$work/ran"
false_that 'a command ran in a quarantine' test -e "$work/ran"
for again in '' ' again'; do
  exits 0 at "$admin_url/jobs?first=on" init
  contains "init$again" "$out" 'is ready'
done
admin_url+=/jobs
exits 0 at "$admin_url" status
same 'an empty space' 'nothing is held' "$out"
exits 0 at "$admin_url" doctor
contains 'doctor' "$out" 'programs may rely on the store'
contains 'doctor on evictions' "$out" '-M'
contains 'doctor on waiting' "$out" 'waiters ask again'
exits 0 at "$admin_url" metrics
same 'metrics' 1 "$(printf '%s\n' "$out" | sed -n 's/^lockset_up{.*} //p')"

refused 69 'no-such-host.invalid' at "memcached://no-such-host.invalid/jobs" status
refused 69 '127.0.0.1:1' at "memcached://127.0.0.1:1/jobs" status
exits 78 at "memcached://user:hunter2@127.0.0.1:$port/jobs" status
one_line 'a password'
contains 'a password' "$err" SASL
lacks 'a password' "$err$out" hunter2
refused 64 lease at "$admin_url" run --write x --lease none -- touch "$work/ran"
refused 64 lease at "$admin_url" run --write x --lease 1h -- touch "$work/ran"
refused 64 'longest lease' at "$admin_url" init --max-lease 1h
exits 64 at "$admin_url" init --print
cannot_observe "$admin_url"
false_that 'a command ran without its lease' test -e "$work/ran"

# A job and its lock outlive a restart of the server; nobody else gets it.
exits 0 at "$admin_url" init --max-lease 20s
start env "LOCKSET_URL=$admin_url" "$lockset" run --write x --lease 15s -- \
  sh -c 'echo "$LOCKSET_STAMP" >stamp; while [ ! -e finish ]; do sleep 0.02; done'
job=$pid
soon filled stamp
server stop
server start
LOCKSET_URL=$admin_url soon held x 2>missing.err  # until the job has put the space back
refused 69 'no new grants' at "$admin_url" run --write y -n -- touch "$work/ran"
exits 0 at "$admin_url" run --write y --patience 1m -- true
exits 75 at "$admin_url" run --write x -n -- true
same 'the same hold' "$(cat stamp)" "$(LOCKSET_URL=$admin_url stamp_of x)"
touch finish
pid=$job
ends 0
exits 0 at "$admin_url" run --write x -n -- sh -c 'echo "$LOCKSET_STAMP"'
true_that 'the next stamp is greater' test "$out" -gt "$(cat stamp)"
false_that 'a command ran in a quarantine' test -e "$work/ran"
finish
