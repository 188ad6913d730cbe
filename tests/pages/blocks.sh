# Common functions of the tests of the pages' shell. Source it after tests/cli/lib.sh.
# shellcheck shell=bash
pages=${2:?usage: test.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS}
PATH=$(dirname "$lockset"):$PATH

# The commands that the pages run under a lock.
mkdir "$work/jobs"
PATH=$work/jobs:$PATH
# job NAME: says its name, and the stamp it runs under.
job() {
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "%s ${LOCKSET_STAMP:-}"\n' "$1" >"$work/jobs/$1"
  chmod +x "$work/jobs/$1"
  ln -s "$work/jobs/$1" "$1"
}

# run_block BLOCK [SED-SCRIPT...]: as the page has it, but for addresses and the like, and until the
# first command that fails. $out and $err are its output. Each replacement has to find something.
run_block() {
  local block=$pages/$1 script
  shift
  cp "$block" block.sh || exit 2
  for script; do
    sed -E "$script" block.sh >replaced.sh
    false_that "$block has something for $script" cmp -s block.sh replaced.sh
    mv replaced.sh block.sh
  done
  exits 0 bash -eu block.sh
}
