# The shell of docs/backends/memcached.md, run as it stands there.
#
#   memcached.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server memcached
run_server memcached
here=127.0.0.1:$(cat "$server_dir/port")

run_block backends/memcached/memcached.sh "s#//cache/#//$here/#g"
contains 'doctor as the page has it' "$out" 'programs may rely on the store'
exits 0 env LOCKSET_URL="memcached://$here/jobs" lockset run nightly -- true
finish
