# The shell of docs/backends/mysql.md, run as it stands there.
#
#   mysql.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server mariadb
run_server mariadb
# The pages name no password. Here all accounts have the same.
MYSQL_PWD=$(cat "$server_dir/password")
export MYSQL_PWD
port=$(cat "$server_dir/port")
as_admin() { mariadb --host=127.0.0.1 --port="$port" --user=lockset_admin "$@"; }
sed "s/'\.\.\.'/'$MYSQL_PWD'/; s/prod/lockset/" "$pages/backends/mysql/rights.sql" >rights.sql
exits 0 as_admin <rights.sql
for account in app ops; do
  exits 0 as_admin --execute="CREATE USER $account@'%' IDENTIFIED BY '$MYSQL_PWD'"
done

run_block backends/mysql/mysql-and-mariadb.sh "s#db.example/prod#127.0.0.1:$port/lockset#"
contains 'doctor as the page has it' "$out" 'programs may rely on the store'
address="mysql://app@127.0.0.1:$port/lockset?space=jobs"
exits 0 env LOCKSET_URL="$address" lockset run nightly -- true
finish
