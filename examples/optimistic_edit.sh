#!/usr/bin/env bash
# Edits a file that several people edit, perhaps from several hosts. Nobody is locked out meanwhile:
# the first one who saves wins. Whoever was overtaken is told by whom, and keeps the own version.
#
#   ./optimistic_edit.sh FILE [EDITOR...]     exit 80: somebody was quicker
#
# LOCKSET_URL names a store that all of them use, and all of them give FILE in the same form.
set -euo pipefail
file=${1:?usage: optimistic_edit.sh FILE [EDITOR...]}
name="file: $file"
shift
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- ${EDITOR:-vi}
mine=$(mktemp "$file.XXXXXX")
trap 'rm -f "$mine"' EXIT

# Observe first, then read. If somebody wrote meanwhile, wait until that is done, and read again.
while true; do
  seen=$(lockset observe "$name")
  cp -p "$file" "$mine"
  code=0
  lockset validate "$seen" >/dev/null || code=$?
  [ "$code" -ne 0 ] || break
  [ "$code" -eq 80 ] || exit "$code"
  lockset run --read "$name" -- true
done

trap - EXIT  # from here on it is somebody's work

# The lock is held only for the moment of mv. Readers need none: mv replaces the file in one step.
code=0
"$@" "$mine" &&
  lockset run --write "$name" --unless-changed "$seen" -- mv "$mine" "$file" || code=$?
[ ! -e "$mine" ] || echo "not saved; your version is in $mine" >&2
exit "$code"
