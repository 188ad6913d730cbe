#!/usr/bin/env bash
# Tests without their server are skipped, or fail if LOCKSET_TEST_REQUIRE names it: requirement.sh
# LOCKSET.
tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/lib.sh
. "$tests/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/private_server.sh"

# A machine that has no server.
scripts=$work
printf '#!/bin/sh\necho "no $1 here"\nexit 1\n' >"$work/server"
chmod +x "$work/server"

# needs KIND CODE NAMES: the exit code of a test that needs it.
needs() {
  required_names=$3
  exits "$2" without_end need_server "$1"
  same "the reason, with '$3'" "no $1 here" "$err"
}
# The subshell keeps its exit from ending this test; it cleans nothing up.
without_end() (
  trap - EXIT
  "$@"
)

needs redis 77 ''
needs redis 1 all
needs redis 1 redis
needs redis 1 mariadb,redis
needs redis 1 redis,mariadb
needs redis 1 mariadb,all
needs redis 77 mariadb
needs redis 77 mariadb,zookeeper
needs zookeeper 77 zookeeper-ensemble

printf '#!/bin/sh\nexit 0\n' >"$work/server"
exits 0 without_end need_server redis

finish
