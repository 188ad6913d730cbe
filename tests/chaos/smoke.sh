#!/usr/bin/env bash
# A short run of chaos: smoke.sh LOCKSET_CHAOS BACKEND[:STRATEGY]; with a second backend a short
# migration to it, with further arguments. The seed is always the same, so that luck does not judge
# a change; scripts/nightly runs others. Skipped (77) if a server is not available, unless
# LOCKSET_TEST_REQUIRE requires it.
set -u
chaos=${1:?} backend=${2:?} to=${3:-}
notes=$(mktemp "${TMPDIR:-/tmp}/lockset-chaos-notes.XXXXXX")
trap 'rm -f "$notes"' EXIT

seed=1
code=0
if [ -z "$to" ]; then
  "$chaos" --backend "$backend" --minutes 0.2 --processes 6 --seed "$seed" 2>"$notes" || code=$?
else
  "$chaos" --migrate "$backend" "$to" --minutes 0.3 --processes 6 --faults kill,stop --seed "$seed" "${@:4}" \
    2>"$notes" || code=$?
fi
cat "$notes" >&2
if [ "$code" -eq 69 ] && grep -q "can't run here" "$notes"; then
  case ",${LOCKSET_TEST_REQUIRE:-}," in
    *,all,* | *,"${backend%%:*}",*) exit 1 ;;
  esac
  [ -n "$to" ] && case ",${LOCKSET_TEST_REQUIRE:-}," in *,"${to%%:*}",*) exit 1 ;; esac
  exit 77
fi
exit "$code"
