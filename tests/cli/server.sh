# The command on a server: the same tests as on SQLite, and the failures of a server.
#
#   server.sh PATH-OF-LOCKSET KIND      KIND as in scripts/server
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/server_lib.sh
. "$tests/server_lib.sh"
begin_server "${2:?usage: server.sh PATH-OF-LOCKSET postgresql|mariadb|mysql}"

case $kind in
  postgresql)
    strategies='serializable advisory'
    sql() {
      PGPASSWORD=$secret psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" \
        -U lockset_admin "$@" lockset
    }
    make_user() { echo "CREATE USER $1 PASSWORD '$2'" | sql >/dev/null; }
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

missing_space
make_space

# A server that may forget its grants: doctor says so, and open refuses it.
echo "$unsafe" | sql
exits 78 at "$admin_url" doctor
contains 'an unsafe server' "$(printf '%s\n' "$out" | grep '^unsafe')" "$setting"
refused 78 "$setting" at "$admin_url" run --write x -- touch "$work/ran"
false_that 'a command ran on an unsafe server' test -e "$work/ran"
echo "$safe" | sql
exits 0 at "$admin_url" doctor

# Typos.
typos
refused 78 '"optimistic"' at "$admin_url?strategy=optimistic" status
for strategy in $strategies; do contains 'the known strategies' "$err" "$strategy"; done
refused 78 'nowhere' at "${admin_url}_nowhere" status
refused 78 'nobody' at "$(address nobody "$secret")" status
refused 78 'lockset_admin' at "$(address lockset_admin wrong-password)" status
lacks 'a wrong password' "$err" wrong-password
refused 78 'lockset_admin' at "$(address lockset_admin)" status
refused 64 LOCKSET_URL "$lockset" status --url "$admin_url"
case $kind in
  postgresql)
    refused 78 'write postgresql:' at "${admin_url/postgresql:/pgsql:}" status
    exits 0 at "${admin_url/postgresql:/postgres:}" status
    ;;
  *) exits 0 at "${admin_url/mysql:/mariadb:}" status ;;
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

# TLS, as in the guide.
exits 0 at "$admin_url?$verified=$server_dir/ca.pem" status
refused 78 TLS at "$admin_url?$verified=$server_dir/wrong-ca.pem" status

shown_nowhere "$plain"

# The script of init, run by somebody with the rights; then a program with few of them.
exits 0 at "$(address nobody)?space=scripted" init --print
printf '%s\n' "$out" >script.sql
lacks 'the script' "$out" "$secret"
exits 0 sql <script.sql
exits 0 sql <script.sql
exits 0 at "$admin_url?space=scripted" run --write x -- true
make_user app app-password
app=$(address app app-password)?space=scripted
refused 78 app at "$app" status
# The rights that programs and operators need.
case $kind in
  postgresql)
    # A program's rights: printed, and run by somebody who may do that.
    exits 0 at "$(address nobody)?space=scripted" init --print --program app
    lacks 'the script with rights' "$out" "$secret"
    exits 0 sql < <(printf '%s\n' "$out")
    exits 0 at "$app" run --write x -- true
    exits 0 at "$app" status
    # Only these rights, until an administrator gives more; and back.
    kept=$(at "$app" acquire --write kept --lease 10m)
    for again in 1 2; do
      for operation in 'permits set x --read 3' "break $kept" 'init --max-lease 1h'; do
        # shellcheck disable=SC2086
        refused 78 'lockset init --operator app' at "$app" $operation
        contains "$operation" "$err" '"app"'
      done
      exits 0 at "$admin_url?space=scripted" init --operator app
      exits 0 at "$app" permits set x --read "$again"
      exits 0 at "$app" init --max-lease 2h
      exits 0 at "$admin_url?space=scripted" init --program app
    done
    exits 0 at "$app" release "$kept"
    refused 78 'nobody_there' at "$admin_url?space=scripted" init --program nobody_there
    refused 64 'public' at "$admin_url?space=scripted" init --program public
    ;;
  *)
    make_user ops ops-password
    ops=$(address ops ops-password)?space=scripted
    exits 0 at "$(address nobody)?space=scripted" init --print --program app --operator ops
    printf '%s\n' "$out" >script.sql
    for _ in once twice; do
      exits 0 sql <script.sql
      exits 0 at "$app" run --write x -- true
      exits 0 at "$app" status
      refused 78 'lockset init --operator app' at "$app" permits set x --read 3
      exits 0 at "$ops" permits set x --read 3
    done
    # The same by init itself, which also takes rights away.
    exits 0 at "$admin_url?space=scripted" init --program ops --operator app
    contains 'init names a definer that may do too much' "$out" "'lockset_admin'@'%'"
    exits 0 at "$app" permits set x --read 3
    refused 78 'lockset init --operator ops' at "$ops" permits set x --read 3
    exits 0 at "$ops" doctor
    contains 'doctor tells the role' "$out" 'is a program'
    refused 64 'two words\' at "$admin_url?space=scripted" init --program 'two words\'
    refused 78 "no account 'nobody'@'%'" at "$admin_url?space=scripted" init --program nobody
    ;;
esac

# The tests of every store, each in a separate space; with both strategies if the test depends on
# how sets are granted.
both() { story "$1_${2%%-*}" "strategy=$2" "$1" "${@:3}"; }
for strategy in $strategies; do
  for name in run stamps permits; do both "$name" "$strategy"; done
  both concurrent "$strategy" 10
done
for name in guard lost signals observe; do both "$name" "${strategies%% *}"; done

# Where holds live in connections, there is nothing that could remember a write.
case $kind in
  postgresql)
    session=$admin_url?space=session\&strategy=session
    exits 0 at "$session" init
    cannot_observe "$session"
    ;;
esac

killed_and_back
away_too_long
finish
