#!/usr/bin/env bash
# Opens the page of a run in a browser: each chart must be drawn, and no script may fail.
#
#   render_test.sh LOCKSET-BENCH RESULTS.json [FOLDER]
#
# FOLDER keeps the page and pictures of it for people: light, dark and on a phone. Chromium gets no
# network if that can be taken away.
set -euo pipefail

bench=$1
results=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kept=${3:-$work}
mkdir -p "$kept"
page=$(realpath "$kept")/page.html
failed=0

fail() {
  echo "FAILED: $*" >&2
  failed=1
}

alone=()
if unshare --net true 2>/dev/null; then
  alone=(unshare --net)
elif unshare --map-root-user --net true 2>/dev/null; then
  alone=(unshare --map-root-user --net)
fi

# browse WIDTH,HEIGHT ARGUMENT...
browse() {
  local size=$1
  shift
  rm -rf "$work/profile"
  timeout --kill-after=10 120 "${alone[@]}" chromium --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --disable-background-networking --disable-component-update \
    --no-first-run --hide-scrollbars --user-data-dir="$work/profile" --window-size="$size" \
    --virtual-time-budget=5000 "$@" "file://$page" 2>"$work/messages" || {
    cat "$work/messages" >&2
    fail "chromium ended with $?"
  }
}

"$bench" report "$results" --html "$page" >"$work/tables"

sections=(promises share uncontended latency clients set-size read-mostly many-held contended
  starving renewal crash cpu conditions)
for width in 1200 400; do
  browse "$width,900" --dump-dom >"$work/dom.html"
  grep -q '<html[^>]* data-rendered="yes"' "$work/dom.html" || fail "the script did not end ($width)"
  if grep -oE '<p class="error">[^<]*' "$work/dom.html"; then fail "the page complains ($width)"; fi
  # One section after the other: from its beginning to the next one's.
  for section in "${sections[@]}"; do
    awk -v id="<section id=\"$section\"" '
      { while ((at = index($0, "<section ")) > 0) {
          if (inside) print substr($0, 1, at - 1)
          $0 = substr($0, at); inside = index($0, id) == 1
          if (inside) print "<section"
          $0 = substr($0, 9) }
        if (inside) print }' "$work/dom.html" >"$work/section"
    [ -s "$work/section" ] || { fail "no section $section ($width)"; continue; }
    case "$section" in promises | conditions)
      grep -q '<td' "$work/section" || fail "an empty table in $section ($width)"
      continue ;;
    esac
    figures=$(grep -o '<figure' "$work/section" | wc -l)
    charts=$(grep -o '<svg[^>]* role="img"' "$work/section" | wc -l)
    marks=$(grep -oE 'class="mark"' "$work/section" | wc -l)
    # A value that is no number makes an invisible mark.
    if grep -qE '="[^"]*(NaN|Infinity|undefined)' "$work/section"; then
      fail "a mark without a place in $section ($width)"
    fi
    { [ "$figures" -gt 0 ] && [ "$figures" -eq "$charts" ] && [ "$marks" -ge "$figures" ]; } ||
      fail "$section ($width): $figures figures, $charts charts, $marks marks"
  done
done

# A string of the run that became markup would have been executed.
grep -q 'window.hostile' "$results" || fail 'the sample has no hostile strings'
if grep -qE '<img|<script>window\.hostile' "$work/dom.html"; then fail 'markup from a string'; fi

if [ $# -ge 3 ]; then
  browse 1200,8800 --screenshot="$kept/light.png"
  browse 1200,8800 --blink-settings=preferredColorScheme=0 --screenshot="$kept/dark.png"
  browse 400,11000 --screenshot="$kept/narrow.png"
  browse 1200,900 --no-pdf-header-footer --print-to-pdf="$kept/page.pdf"
fi
[ "$failed" -eq 0 ] && echo 'Each chart is drawn.'
exit "$failed"
