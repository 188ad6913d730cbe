# The shell of docs/migration.md, with what it says there, and of its section in docs/guide.md.
#
#   move.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server mariadb
need_server postgresql
unset LOCKSET_URL
run_server mariadb
MYSQL_PWD=$(cat "$server_dir/password")
old=mysql://lockset_admin@127.0.0.1:$(cat "$server_dir/port")/lockset
run_server postgresql
PGPASSWORD=$(cat "$server_dir/password")
new=postgresql://lockset_admin@127.0.0.1:$(cat "$server_dir/port")/lockset
export MYSQL_PWD PGPASSWORD

# The addresses that the page sets are kept.
exits 0 lockset init --url "$old"
block=$pages/migration/step-by-step.sh
sed "s#mysql://locks@db1/lockset#$old#; s#postgresql://locks@db2/lockset#$new#" "$block" >addresses.sh
# shellcheck disable=SC1091
. ./addresses.sh >init.out
contains 'the new space' "$(cat init.out)" 'is ready'
same 'the old address' "$old" "$LOCKSET_MIGRATE_FROM"

# A setting to copy, and a program that does not follow.
alone() { env -u LOCKSET_MIGRATE_FROM -u LOCKSET_MIGRATE_TO "LOCKSET_URL=$old" "$@"; }
exits 0 alone lockset permits set '*' --read 1000
exits 0 alone lockset acquire --read data more --lease 10m --label web2 --app web@front1
left_behind=$out

# Without times, stamps and counts, which differ, and without what it says while it waits.
alike() { sed -E '/^lockset: waiting/d; s/ +/ /g; s/[0-9]+(m|s|ms)?/N/g'; }
# as_on_the_page BLOCK: runs each "$ command" of it. Each line that the page shows is said.
as_on_the_page() {
  local line
  : >said
  while IFS= read -r line; do
    bash -c "$line" >>said 2>&1 </dev/null || true # the text tells
  done < <(sed -n 's/^\$ //p' "$pages/migration/$1" | sed 's/ finish$/& --yes/') # nobody to ask
  shown "$1"
}
shown() {
  local line
  alike <said >said.alike
  while IFS= read -r line; do
    grep -qxF -e "$line" said.alike || fail "$1" "not said: $line" "but: $(cat said)"
  done < <(sed '/^\$ /d; /: yes$/d' "$pages/migration/$1" | alike)
}

lockset migrate plan >said 2>&1
shown 1-lockset-migrate-plan.text
as_on_the_page 1-lockset-migrate-plan-2.text
as_on_the_page 2-lockset-migrate-start-the-shadow.text
as_on_the_page 3-lockset-migrate-advance-both-stores-the-old-one-s-stamps.text
# What was left behind is in the way of the page's first command, and gone for its second one.
(
  soon grep -q 'would be refused' said
  alone lockset release "$left_behind" --app web@front1
) &
as_on_the_page 4-lockset-migrate-advance-the-new-store-s-stamps.text
true_that 'what was left behind is released' wait $!
as_on_the_page 5-lockset-migrate-advance-leave-the-old-store.text
as_on_the_page 6-lockset-migrate-advance-lockset-migrate-finish.text
exits 0 env -u LOCKSET_MIGRATE_FROM -u LOCKSET_MIGRATE_TO LOCKSET_URL="$new" lockset run data -- true
finish
