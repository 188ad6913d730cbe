#!/usr/bin/env bash
# At most N of these run at a time, over all hosts; the others wait.
#
#   ./at_most_n.sh N COMMAND...
#
# Setting permits needs the role of an operator (docs/guide.md): in life somebody does it once, with
#   lockset permits set worker --write 3
# and the jobs have only the second line.
set -euo pipefail
n=${1:?usage: at_most_n.sh N COMMAND...}
shift

lockset permits set worker --write "$n"
exec lockset run --write worker -- "$@"
