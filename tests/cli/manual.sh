# Manual pages, made from the definitions of the help and the stores' own tables.
. "$(dirname "$0")/lib.sh"

exits 0 "$lockset" help --man pages
true_that "the main page" test -s pages/lockset.1
for page in lockset-run lockset-status lockset-permits-list lockset-migrate-release-new; do
  true_that "$page" test -s "pages/$page.1"
done
contains "an option" "$(cat pages/lockset-run.1)" '\-\-no\-wait'
contains "a synopsis" "$(cat pages/lockset-status.1)" 'lockset status [NAME]'
same "no line of a text is taken for a request" '' \
  "$(grep -hE "^[.']" pages/* | grep -vE '^\.(TH|SH|PP|TP|B|BR|nf|fi)( |$)')"
if command -v man >/dev/null; then
  for page in pages/*.1; do
    same "$page: warnings" '' "$(man --warnings --encoding=utf8 --local-file "$page" 2>&1 >/dev/null)"
  done
fi
exits 74 "$lockset" help --man /dev/null/pages
one_line "no folder"

finish
