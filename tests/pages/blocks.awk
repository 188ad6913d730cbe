# The code blocks of a page, one file each: FOLDER/HEADING.LANGUAGE ("in-sql.sql"; a second one of
# the same heading and language is "in-sql-2.sql"). A line "..." becomes a call of page_gap: the test
# does there what the reader is to imagine. Prints the names.
#
#   awk -v folder=FOLDER -f blocks.awk PAGE.md
function slug(text) {
  text = tolower(text)
  gsub(/[^a-z0-9]+/, "-", text)
  gsub(/^-|-$/, "", text)
  return text
}
!inside && /^#/ { heading = $0; sub(/^#+ */, "", heading) }
/^```/ {
  if (inside) { inside = 0; close(file); next }
  inside = 1
  language = substr($0, 4)
  if (language == "") language = "text"
  name = slug(heading)
  if (++seen[name "." language] > 1) name = name "-" seen[name "." language]
  name = name "." language
  file = folder "/" name
  printf "" >file
  print name
  next
}
inside {
  if ($0 ~ /^\.\.\.( *#.*)?$/) $0 = language == "c++" ? "page_gap();" : "page_gap"
  print >file
}
