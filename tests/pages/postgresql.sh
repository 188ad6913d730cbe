# The shell of docs/backends/postgresql.md, and what docs/guide.md says of making a space, run as it stands there.
#
#   postgresql.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server postgresql
run_server postgresql
# The pages name no password. Here all users have the same.
PGPASSWORD=$(cat "$server_dir/password")
export PGPASSWORD
here=127.0.0.1:$(cat "$server_dir/port")/lockset
for user in app ops; do
  psql -X -q "$admin_url" -c "CREATE USER $user PASSWORD '$PGPASSWORD'"
done

run_block backends/postgresql/postgresql.sh "s#admin@db.example/prod#lockset_admin@$here#" \
  "s#app@db.example/prod#app@$here#"
contains 'doctor as the page has it' "$out" 'programs may rely on the store'

export LOCKSET_URL=postgresql://lockset_admin@$here
run_block guide/make-the-space.sh "s#owner@db/prod#lockset_admin@$here#"
contains 'the script' "$(cat lockset.sql)" 'CREATE SCHEMA'
run_block guide/who-may-do-what.sh
exits 0 env LOCKSET_URL="postgresql://app@$here" lockset run nightly -- true
exits 0 env LOCKSET_URL="postgresql://ops@$here" lockset permits set nightly --read 2
code=0
LOCKSET_URL=postgresql://app@$here lockset permits set nightly --read 3 2>denied || code=$?
true_that 'a program may not set permits' test "$code" -ne 0
finish
