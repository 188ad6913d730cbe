# Manual pages, made from the definitions of the help and the stores' own tables.
. "$(dirname "$0")/lib.sh"

exits 0 "$lockset" help --man pages
true_that "the main page" test -s pages/lockset.1
for page in lockset.conf.5 lockset-backends.7; do true_that "$page" test -s "pages/$page"; done
file=$(cat pages/lockset.conf.5)
contains "a key" "$file" '.B migrate.from = URL'
contains "its meaning" "$file" 'address of the lock space'
contains "where the file is" "$file" '/etc/lockset.conf'
lacks "what is no key" "$file" 'older\-than'
stores=$(cat pages/lockset-backends.7)
contains "a store" "$stores" '.B sqlite:'
contains "its parameters" "$stores" 'Parameters: durability, synchronous'
for page in lockset-run lockset-status lockset-permits-list lockset-migrate-release-new; do
  true_that "$page" test -s "pages/$page.1"
done
contains "an option" "$(cat pages/lockset-run.1)" '\-\-no\-wait'
contains "a synopsis" "$(cat pages/lockset-status.1)" 'lockset status [NAME]'
same "no line of a text is taken for a request" '' \
  "$(grep -hE "^[.']" pages/* | grep -vE '^\.(TH|SH|PP|TP|B|BR|nf|fi|br|ad)( |$)')"
if command -v man >/dev/null; then
  for page in pages/*; do
    same "$page: warnings" '' "$(man --warnings --encoding=utf8 --local-file "$page" 2>&1 >/dev/null)"
  done
fi
exits 74 "$lockset" help --man /dev/null/pages
one_line "no folder"

finish
