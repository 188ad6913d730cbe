#!/bin/sh
# Runs the example with this liblockset.so. Exit 77: there is no Python, and nobody insists on it.
#
#   run.sh LIBRARY
set -eu
if ! python3 -c 'import ctypes, threading' 2>/dev/null; then
  echo 'There is no python3 with its standard library (Debian: python3).' >&2
  [ "${LOCKSET_TEST_REQUIRE:-}" = all ] && exit 1
  exit 77
fi
LOCKSET_LIBRARY=$1 exec python3 -B "$(dirname "$0")/counter.py"
