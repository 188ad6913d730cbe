# The shell of docs/patterns.md, run as it stands there.
#
#   patterns.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
blocks=${2:?usage: patterns.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS}/patterns
PATH=$(dirname "$lockset"):$PATH

printf '#!/bin/sh\necho "$LOCKSET_STAMP" >>saved\n' >save
chmod +x save
edit() {
  # shellcheck disable=SC1091
  . "$blocks/optimistic-offline-lock.sh"
}
page_gap() { :; }
exits 0 edit
same "saved" 1 "$(wc -l <saved)"
page_gap() { lockset run --write discounts --label bob -- true; }
exits 80 edit
contains "overtaken" "$err" '"discounts" has changed: bob was granted a write'
same "not saved" 1 "$(wc -l <saved)"
finish
