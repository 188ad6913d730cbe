#!/usr/bin/env bash
# A job that writes to a file server, which refuses stale writers: it keeps the greatest stamp that
# it has seen of each file. docs/fencing.md
#
#   lockset run --write report -- ./fenced_job.sh put FILE <CONTENT
#
# The server is one function here. What matters is that it compares and writes in one step.
set -euo pipefail

server_put() {  # FILE STAMP; content from standard input
  (
    flock 9  # the server's own lock, for a moment
    seen=$(cat "$1.stamp" 2>/dev/null || echo 0)
    if [ "$2" -lt "$seen" ]; then
      echo "refused: stamp $2 is older than $seen" >&2
      exit 1
    fi
    cat >"$1.new"  # the content may come from the file itself
    echo "$2" >"$1.stamp"
    mv "$1.new" "$1"
  ) 9>"$1.guard"
}

case "${1:-} $#" in
  'put 2') server_put "$2" "${LOCKSET_STAMP:?run it under lockset run}" ;;
  *) echo 'usage: fenced_job.sh put FILE <CONTENT' >&2; exit 64 ;;
esac
