# What failed, from CTest's LastTest.log. For each failed test: GoogleTest's failures, the failed
# steps of a shell test ("FAILED: ..." and the indented lines below), or a sanitizer's report; if
# there is none of these, its last lines.
#   awk -v most=150 -f failures.awk LastTest.log

function keep(line) {
  if (kept < 40) text[++kept] = line
  else cut = 1
}

function print_test(   i) {
  for (i = last - 14; kept == 0 && i <= last; i++) if (i > 0) text[++shown] = tail[i % 15]
  if (kept > shown) shown = kept
  if (printed++ == 0) print "What failed, from the log:"
  say("-- " name)
  for (i = 1; i <= shown; i++) say("   " text[i])
  if (cut) say("   ...")
}

function say(line) {
  if (++said == most + 1) print "... and more: see the log"
  if (said <= most) print line
}

!inside && /^[0-9]+\/[0-9]+ Test: / {
  name = $0
  sub(/^[^:]*: /, "", name)
}
!inside && /^Output:$/ {
  getline
  inside = 1
  kept = last = shown = block = cut = 0
  next
}
inside && /^<end of output>$/ {
  inside = 0
  next
}
!inside && /^Test Failed\.$/ { print_test() }
inside {
  tail[++last % 15] = $0
  if (/^\[/) block = 0
  if (/^FAILED: /) block = 1
  else if (block == 1 && !/^ /) block = 0
  if (/: Failure$/) block = 2
  if (/ERROR: [A-Za-z]*Sanitizer|WARNING: ThreadSanitizer|: runtime error: /) block = 3
  if (block || /^\[  FAILED  \].*ms\)$/) keep($0)
}
