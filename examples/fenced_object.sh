#!/usr/bin/env bash
# An object in a store with conditional writes (ETag, If-Match), which refuses stale writers. Its
# first line is the greatest stamp that has written it. docs/fencing.md
#
# Try yours first: curl -T FILE -H 'If-Match: "no"' URL has to be refused with 412.
#
#   lockset run --write report -- ./fenced_object.sh put URL <CONTENT
#   ./fenced_object.sh get URL
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the status; leaves $work/head and $work/body.
fetch() { curl -sS -D "$work/head" -o "$work/body" -w '%{http_code}' "$1"; }

put() {  # URL STAMP; content from standard input
  local condition etag seen status
  { echo "$2"; cat; } >"$work/new"
  while true; do
    case $(fetch "$1") in
      200)
        seen=$(head -n 1 "$work/body")
        etag=$(tr -d '\r' <"$work/head" | sed -n 's/^etag: *//Ip')
        condition="If-Match: $etag"
        # Without a strong ETag the write would have no condition that can hold.
        if [[ ! $etag =~ ^\".*\"$ || ! $seen =~ ^[0-9]+$ ]]; then
          echo "$1 has no strong ETag, or no stamp in its first line" >&2
          return 1
        fi
        ;;
      404) seen=0 condition='If-None-Match: *' ;;
      *) echo "can't read $1" >&2; return 1 ;;
    esac
    if [ "$2" -lt "$seen" ]; then
      echo "refused: stamp $2 is older than $seen" >&2
      return 1
    fi
    status=$(curl -sS -o "$work/answer" -w '%{http_code}' -T "$work/new" -H "$condition" "$1")
    case $status in
      2??) return 0 ;;
      409 | 412) ;;  # somebody was quicker: look who
      *) echo "can't write $1: status $status" >&2; return 1 ;;
    esac
  done
}

case "${1:-} $#" in
  'put 2') put "$2" "${LOCKSET_STAMP:?run it under lockset run}" ;;
  'get 2') [ "$(fetch "$2")" = 200 ] && tail -n +2 "$work/body" ;;
  *) echo 'usage: fenced_object.sh put URL <CONTENT, or get URL' >&2; exit 64 ;;
esac
