# The shell of docs/fencing.md, run as it stands there, on a PostgreSQL server and on a WebDAV server
# with conditional writes.
#
#   fencing.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/../cli" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/private_server.sh"
blocks=${2:?usage: fencing.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS}/fencing
examples=$(cd "$tests/../../examples" && pwd)
PATH=$(dirname "$lockset"):$PATH:/usr/sbin
cp "$examples"/*.sh .

# stale NAME: the stamp of a holder that lost the lock.
stale() {
  local stamp
  stamp=$(lockset acquire --write "$1" --lease 10m)
  lockset break "$stamp"
  echo "$stamp"
}

# In a folder: each write is a new object.
folder=$blocks/a-file-server-or-an-object-store-2.sh
mkdir report
echo first >report.txt
old=$(stale report)
exits 0 sh "$folder"
same "the first report" first "$out"
echo second >report.txt
exits 0 sh "$folder"
same "the second report" second "$out"
echo stale >"report/$(printf %020d "$old")"
same "a stale one changes nothing that is read" second "$(cat "report/$(ls report | tail -n 1)")"

# A server with conditional writes. curl finds it behind the page's address.
if command -v lighttpd >/dev/null && [ -e /usr/lib/lighttpd/mod_webdav.so ]; then
  mkdir files
  cat >lighttpd.conf <<CONF
server.modules = ("mod_webdav")
server.document-root = "$work/files"
server.bind = "$work/files.socket"
server.errorlog = "$work/lighttpd.log"
mimetype.assign = ("" => "text/plain")
\$HTTP["url"] =~ "^/" { webdav.activate = "enable" }
CONF
  start lighttpd -D -f lighttpd.conf
  printf 'unix-socket = "%s/files.socket"\n' "$work" >"$HOME/.curlrc"
  soon curl -s -o files.out http://files/
  objects=$blocks/a-file-server-or-an-object-store.sh
  old=$(stale report)
  for content in first second; do
    echo "$content" >report.txt
    exits 0 sh "$objects"
    same "the object" "$content" "$out"
  done
  exits 1 env LOCKSET_STAMP="$old" ./fenced_object.sh put http://files/report <report.txt
  contains "a stale writer" "$err" "refused: stamp $old is older than"
  same "the object after it" second "$(./fenced_object.sh get http://files/report)"
  # A condition that nobody can check is none.
  echo 'written by hand' >files/by-hand
  exits 1 env LOCKSET_STAMP="$old" ./fenced_object.sh put http://files/by-hand <report.txt
  contains "an object without a stamp" "$err" "no stamp in its first line"
  same "it is not overwritten" 'written by hand' "$(cat files/by-hand)"
  # Stale and later holders at the same time: the later one is always the last.
  for round in $(seq 10); do
    writers=()
    for writer in 1 2 3; do
      stamp=$((9000000000000000 + 10 * round + writer))
      start env LOCKSET_STAMP=$stamp \
        sh -c 'echo "$LOCKSET_STAMP" | ./fenced_object.sh put http://files/raced' 2>>raced.err
      writers+=("$pid")
    done
    for writer in "${writers[@]}"; do wait "$writer"; done
    same "round $round" "$stamp" "$(./fenced_object.sh get http://files/raced)"
  done
elif required webdav; then
  fail "no lighttpd with mod_webdav here"
else
  echo "no lighttpd with mod_webdav here: no test of conditional writes" >&2
fi

# A table of PostgreSQL, which a shell job writes.
need_server postgresql
run_server postgresql
sql() { psql -X -q -t -A -v ON_ERROR_STOP=1 "$admin_url" -c "$1"; }
sql 'CREATE TABLE prices (id INT PRIMARY KEY, price INT, fence BIGINT NOT NULL DEFAULT 0)'
sql 'INSERT INTO prices (id, price) VALUES (1, 10)'
old=$(stale prices)
sed "s|postgresql://app@db/shop|$admin_url|" "$blocks/in-a-shell.sh" >job.sh
false_that "the address is in the block" cmp -s job.sh "$blocks/in-a-shell.sh"
exits 0 sh job.sh
same "the price" 25 "$(sql 'SELECT price FROM prices')"
code=0
LOCKSET_STAMP=$old ./psql_job.sh "$admin_url" 99 2>stale.err || code=$?
true_that "a stale job fails" test "$code" -ne 0
same "the price after it" 25 "$(sql 'SELECT price FROM prices')"
finish
