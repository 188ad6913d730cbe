# The command on a server: the same stories as on SQLite, and what goes wrong there.
#
#   server.sh PATH-OF-LOCKSET KIND      KIND as in scripts/server
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/private_server.sh"
kind=${2:?usage: server.sh PATH-OF-LOCKSET postgresql|mariadb|mysql}
need_server "$kind"
run_server "$kind"
secret=$(cat "$server_dir/password")
port=$(cat "$server_dir/port")

# refused CODE PART COMMAND...: one line with PART, and never the password.
refused() {
  local code=$1 part=$2
  shift 2
  exits "$code" "$@"
  one_line "$*"
  contains "$*" "$err" "$part"
  lacks "$*" "$err$out" "$secret"
}
at() { env "LOCKSET_URL=$1" "$lockset" "${@:2}"; }

case $kind in
  postgresql)
    strategies='serializable advisory'
    sql() {
      PGPASSWORD=$secret psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" \
        -U lockset_admin "$@" lockset
    }
    make_user() { echo "CREATE USER $1 PASSWORD '$2'" | sql >/dev/null; }
    app_user=app
    verified='sslmode=verify-full&sslrootcert'
    unsafe='ALTER ROLE lockset_admin SET synchronous_commit = off'
    safe='ALTER ROLE lockset_admin RESET synchronous_commit'
    setting=synchronous_commit
    ;;
  *)
    strategies='select-for-update unique-index'
    sql() {
      MYSQL_PWD=$secret mariadb --no-defaults -h 127.0.0.1 -P "$port" \
        -u lockset_admin "$@" lockset
    }
    make_user() { echo "CREATE USER '$1'@'%' IDENTIFIED BY '$2'" | sql >/dev/null; }
    app_user="'app'@'%'"
    verified='ssl_mode=verify_identity&ssl_ca'
    unsafe='SET GLOBAL innodb_flush_log_at_trx_commit = 2'
    safe='SET GLOBAL innodb_flush_log_at_trx_commit = 1'
    setting=innodb_flush_log_at_trx_commit
    ;;
esac

# A space that nobody made.
refused 78 'lockset init' at "$admin_url?space=missing" status
refused 78 'lockset init' at "$admin_url?space=missing" run --write x -- touch "$work/ran"
exits 78 at "$admin_url?space=missing" doctor
contains 'a missing space' "$out" 'lockset init'
false_that 'a command ran without a space' test -e "$work/ran"

# init says that it did it, without the password; once more does no harm.
for again in '' ' again'; do
  exits 0 at "$admin_url" init
  contains "init$again" "$out" 'is ready'
  lacks "init$again" "$out" "$secret"
  same "init$again: standard error" '' "$err"
done
exits 0 at "$admin_url" status
same 'an empty space' 'nothing is held' "$out"
# Without a space that works all of the rest would only wait and fail.
[ "$failures" -eq 0 ] || finish
exits 0 at "$admin_url" doctor
lacks 'doctor' "$out$err" "$secret"
contains 'doctor' "$out" 'round trip'
exits 0 at "$admin_url" doctor --json
contains 'doctor for programs' "$out" '"findings"'
lacks 'doctor for programs' "$out" "$secret"

# A server that may forget what it granted: doctor says so, and nobody opens it.
echo "$unsafe" | sql
exits 78 at "$admin_url" doctor
contains 'an unsafe server' "$(printf '%s\n' "$out" | grep '^unsafe')" "$setting"
refused 78 "$setting" at "$admin_url" run --write x -- touch "$work/ran"
false_that 'a command ran on an unsafe server' test -e "$work/ran"
echo "$safe" | sql
exits 0 at "$admin_url" doctor

# Typos.
refused 78 '"spcae"' at "$admin_url?spcae=x" status
contains 'an unknown parameter: the known ones' "$err" space
refused 78 '"optimistic"' at "$admin_url?strategy=optimistic" status
for strategy in $strategies; do contains 'the known strategies' "$err" "$strategy"; done
refused 78 'space' at "$admin_url?space=Bad-Name" status
refused 78 '"tomorrow"' at "$admin_url?connect_timeout=tomorrow" status
refused 78 'pool' at "$admin_url?pool=0" status
refused 78 'nowhere' at "${admin_url}_nowhere" status
refused 78 'nobody' at "$(address nobody "$secret")" status
refused 78 'lockset_admin' at "$(address lockset_admin wrong-password)" status
lacks 'a wrong password' "$err" wrong-password
refused 78 'lockset_admin' at "$(address lockset_admin)" status
refused 69 'no-such-host.invalid' at "${admin_url/127.0.0.1/no-such-host.invalid}" status
refused 69 '127.0.0.1:1' at "${admin_url/127.0.0.1:$port/127.0.0.1:1}" status
refused 64 LOCKSET_URL "$lockset" status --url "$admin_url"
case $kind in postgresql)
  refused 78 'write postgresql:' at "${admin_url/postgresql:/postgres:}" status
esac

# Other places for the password.
printf '%s\n' "$secret" >password
chmod 600 password
plain=$(address lockset_admin)
exits 0 "$lockset" status --url "$plain" --password-file password
exits 0 env LOCKSET_URL="$plain" LOCKSET_PASSWORD_FILE=password "$lockset" status
printf 'url = %s\npassword-file = %s\n' "$plain" "$work/password" >here.conf
exits 0 env -u LOCKSET_URL "$lockset" status --config here.conf
case $kind in
  postgresql)
    exits 0 env "PGPASSWORD=$secret" "$lockset" status --url "$plain"
    printf '*:*:*:*:%s\n' "$secret" >pgpass
    chmod 600 pgpass
    exits 0 env PGPASSFILE="$work/pgpass" "$lockset" status --url "$plain"
    exits 0 "$lockset" status --url "$plain?passfile=$work/pgpass"
    ;;
  *)
    exits 0 env "MYSQL_PWD=$secret" "$lockset" status --url "$plain"
    exits 0 "$lockset" status --url "$plain?password_file=$work/password"
    ;;
esac

# TLS, as the guide has it.
exits 0 at "$admin_url?$verified=$server_dir/ca.pem" status
refused 78 TLS at "$admin_url?$verified=$server_dir/wrong-ca.pem" status

# No process shows it while a job runs and another waits: neither in its arguments nor in
# what it says.
start env "LOCKSET_URL=$plain" LOCKSET_PASSWORD_FILE=password "$lockset" run -v --write secret -- \
  sh -c 'touch job; while [ ! -e over ]; do sleep 0.02; done' 2>holder.err
holder=$pid
soon test -e job
start env "LOCKSET_URL=$admin_url" "$lockset" run -v --write secret -- true 2>waiter.err
waiter=$pid
soon at "$admin_url" status secret >status.out
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' >arguments
contains 'the arguments of the job' "$(cat arguments)" '--write secret'
lacks 'arguments of all processes' "$(cat arguments)" "$secret"
touch over
pid=$holder
ends 0
pid=$waiter
ends 0
lacks 'what the holder and the waiter said' "$(cat holder.err waiter.err)" "$secret"

# The script of init, run by somebody who has the rights; then a program with few of them.
exits 0 at "$(address nobody)?space=scripted" init --print
printf '%s\n' "$out" >script.sql
lacks 'the script' "$out" "$secret"
exits 0 sql <script.sql
exits 0 sql <script.sql
exits 0 at "$admin_url?space=scripted" run --write x -- true
make_user app app-password
app=$(address app app-password)?space=scripted
refused 78 app at "$app" status
# What the script's comment says that it needs.
sed -n "s/^-- *\(GRANT .*\) TO .*;/\1 TO $app_user;/p" script.sql >grants.sql
true_that 'the script says what rights a program needs' test -s grants.sql
exits 0 sql <grants.sql
exits 0 at "$app" run --write x -- true
exits 0 at "$app" permits set x --read 3
exits 0 at "$app" status

# The stories of every store, each in a space of its own; with both strategies what depends
# on how sets are granted.
story() {  # STRATEGY NAME [ARGUMENT]...
  local strategy=$1 name=$2
  shift 2
  local url="$admin_url?strategy=$strategy&space=${name}_${strategy%%-*}"
  exits 0 at "$url" init
  LOCKSET_TEST_URL=$url bash "$tests/$name.sh" "$lockset" "$@" 2>story.err ||
    fail "$name with strategy=$strategy" "$(cat story.err)"
}
for strategy in $strategies; do
  for name in run stamps permits; do story "$strategy" "$name"; done
  story "$strategy" concurrent 10
done
for name in guard lost signals; do story "${strategies%% *}" "$name"; done

# A server that is killed under a job and comes back: the job never notices.
exits 0 at "$admin_url?space=crash" init
crash=$admin_url?space=crash
start env "LOCKSET_URL=$crash" "$lockset" run --write x --lease 60s -- \
  sh -c 'echo "$LOCKSET_STAMP" >stamp; while [ ! -e finish ]; do sleep 0.02; done'
job=$pid
soon filled stamp
server kill
begin=$(milliseconds)
refused 69 "127.0.0.1:$port" at "$crash" run --write y -n -- touch "$work/ran"
refused 69 "127.0.0.1:$port" at "$crash" status
refused 69 "127.0.0.1:$port" at "$crash" doctor
true_that 'told soon' test $(($(milliseconds) - begin)) -lt 30000
false_that 'a command ran without a server' test -e "$work/ran"
server start
exits 75 at "$crash" run --write x -n -- true
same 'held all the same' "$(cat stamp)" "$(LOCKSET_URL=$crash stamp_of x)"
touch finish
pid=$job
ends 0
exits 0 at "$crash" run --write x -n -- sh -c 'echo "$LOCKSET_STAMP"'
true_that 'the next stamp is greater' test "$out" -gt "$(cat stamp)"

# One that stays away longer than the lease: the job is ended, and the code is 79.
rm -f stamp
start env "LOCKSET_URL=$crash" "$lockset" run --write x --lease 2s --io-timeout 500ms -- \
  sh -c 'echo "$LOCKSET_STAMP" >stamp; exec sleep 1000' 2>lost.err
job=$pid
soon filled stamp
server pause
pid=$job
ends 79
contains 'a lock that was lost' "$(cat lost.err)" 'lost the lock'
lacks 'a lock that was lost' "$(cat lost.err)" "$secret"
refused 69 "127.0.0.1:$port" at "$crash" status --io-timeout 500ms
server resume
exits 0 at "$crash" run --write x -w 20s -- true
server stop
refused 69 "127.0.0.1:$port" at "$crash" status
finish
