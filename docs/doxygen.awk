# The public headers as Doxygen reads them: their comments become its comments. The first comment of
# a file is about the file; one behind a member is about that member, and so are the lines that
# continue it. Text is no markup: what could be a command or a tag is escaped.
function escaped(text) {
  gsub(/[\\@<>#]/, "\\\\&", text)
  return text
}
# Indented text is code; a Markdown of Doxygen shows it as it stands.
function shown(text) {
  return text ~ /^    / ? text : escaped(text)
}
FNR == 1 { header = 1; behind = 0 }
# C has comments of one kind.
FNR == 1 && /^\/\*/ { print "/** @file"; c_header = 1; sub(/^\/\*/, " *") }
c_header { print escaped($0); if (/\*\//) c_header = 0; next }
/^ *\/\*/ { sub(/\/\*/, "/**") }
/[^ ] *\/\* / { sub(/\/\* /, "/**< ") }
# A comment of its own.
match($0, /^ *\/\//) && !/^ *\/\/ NOLINT/ {
  indent = substr($0, 1, RLENGTH - 2)
  text = substr($0, RLENGTH + 1)
  if (header == 1) { print "/// @file"; header = 2 }
  if (behind && length(indent) == behind) { print indent "///<" escaped(text); next }
  behind = 0
  print indent "///" shown(text)
  next
}
header && !/^\/\// { header = 0 }
# A comment behind a member.
match($0, /[;,{)] +\/\/ /) && !/NOLINT/ {
  at = index(substr($0, RSTART), "//") + RSTART - 1
  print substr($0, 1, at - 1) "///<" escaped(substr($0, at + 2))
  behind = at - 1
  next
}
{ behind = 0; print }
