# The shell of docs/backends/redis.md, run as it stands there.
#
#   redis.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server redis
run_server redis
secret=$(cat "$server_dir/password")
here=127.0.0.1:$(cat "$server_dir/port")
# The page's server is that of redis-cli without options, too.
cat >"$work/jobs/redis-cli" <<CLI
#!/bin/sh
export REDISCLI_AUTH=$secret
exec $(command -v redis-cli) -e -h 127.0.0.1 -p ${here#*:} "\$@"
CLI
chmod +x "$work/jobs/redis-cli"

run_block backends/redis/redis.sh "s/SECRET/$secret/" "s/cache.example/$here/"
contains 'doctor as the page has it' "$out" 'programs may rely on the store'
export REDISCLI_AUTH=$secret
exits 0 redis-cli ACL SETUSER app on '>PASSWORD'
run_block backends/redis/rights.sh "s/cache.example/$here/"
exits 0 env LOCKSET_URL="redis://app:PASSWORD@$here/0?space=jobs" lockset run nightly -- true

# What is granted by hand is enough for a program.
export LOCKSET_URL=redis://$here/0
exits 0 lockset init
run_block backends/redis/rights-2.sh
exits 0 env LOCKSET_URL="redis://app:PASSWORD@$here/0" lockset run nightly -- true

hold nightly
stamp=$(stamp_of nightly)
run_block backends/redis/keys.sh "s/STAMP/$stamp/"
same 'the stamp of who holds it' "$stamp" "$(printf '%s\n' "$out" | sed -n 1p)"
release_it
finish
