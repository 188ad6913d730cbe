# A job under a lock of the default store, in a home that has nothing yet; a second one is refused.
#
#   sh use.sh LOCKSET
set -eu
lockset=$1
"$lockset" --version
"$lockset" run --write nightly -- sh -c '
  echo "a job under stamp $LOCKSET_STAMP"
  "$1" status nightly | grep -q write
  code=0
  "$1" run --write nightly -n -q -- true || code=$?
  test "$code" = 75' job "$lockset"
"$lockset" status | grep 'nothing is held'
"$lockset" help | sed -n '/^Stores/,/^$/p'
