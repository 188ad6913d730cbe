# The shell of the README, of docs/guide.md, docs/coming-from.md and docs/operations.md, run as it stands there.
#
#   usage.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/cli/lib.sh
. "$tests/cli/lib.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
for each in nightly-report deploy fetch unpack save sync; do job "$each"; done
# Where a page says "...": the reader's own work.
cat >"$work/jobs/page_gap" <<'GAP'
#!/bin/sh
exit 0
GAP
chmod +x "$work/jobs/page_gap"

run_block README/from-the-shell.sh
contains 'README: a job' "$out" 'nightly-report 1'
contains 'README: a line for the shell' "$out" 'unpack 1'
contains 'README: unless changed' "$out" 'save 1'
true_that 'README: the stamp was released' free export

run_block backends/quorum/quorum.sh
contains 'quorum: the job ran' "$out" 'a majority granted it'
contains 'quorum: doctor' "$out" '3 of 3 nodes count'

run_block guide/1-run-a-job-under-a-lock.sh
same 'guide 1: both jobs ran' 2 "$(printf '%s\n' "$out" | grep -c '^nightly-report 1')"
run_block guide/2-let-readers-share.sh
contains 'guide 2' "$out" 1000
hold nightly
run_block guide/3-see-and-break.sh \
  's/^(lockset status --watch) .*/timeout --signal=INT 1 \1 || true/' \
  "s/^(lockset break) [0-9]+/\\1 $(stamp_of nightly)/"
contains 'guide 3' "$out" 'nightly'
true_that 'guide 3: it is broken' free nightly
release_it
run_block guide/4-hold-a-lock-across-commands.sh
true_that 'guide 4: it is released' free export
run_block guide/only-if-nothing-was-written.sh
contains 'guide: only if nothing was written' "$out" 'save 1'

# The file of settings. Its lease is seen in what is left of it.
sed "s|/var/lib/jobs|$work|" "$pages/guide/6-configure.text" >"$XDG_CONFIG_HOME/lockset/lockset.conf"
exits 0 env -u LOCKSET_URL lockset acquire configured
stamp=$out
true_that 'the file of the page' test -e "$work/locks.db"
exits 0 env -u LOCKSET_URL lockset status configured
contains 'the lease of the page' "$out" "$stamp"
exits 0 env -u LOCKSET_URL lockset release "$stamp"
run_block guide/is-the-store-fit.sh
contains 'guide: doctor' "$out" 'round trip'

# What monitoring is told: nothing, a warning, an alarm.
run_block operations/doctor-as-a-check.sh
same 'operations: fit' OK "$out"
chmod o+w "$work/locks.db"
exits 1 env "LOCKSET_URL=sqlite:$work/locks.db" sh "$pages/operations/doctor-as-a-check.sh"
chmod o-w "$work/locks.db"
contains 'operations: a warning' "$out" WARNING
exits 2 env "LOCKSET_URL=sqlite:$work/nowhere/locks.db" sh "$pages/operations/doctor-as-a-check.sh"
contains 'operations: an alarm' "$out" CRITICAL

# Addresses with TLS: they are understood, and nothing answers there.
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=nobody -keyout key.pem -out ca.pem 2>/dev/null
sed -E "s|@(db\|cache)/|@127.0.0.1:1/|; s|/etc/ssl/[a-z]*-ca.pem|$work/ca.pem|" "$pages/guide/tls.text" |
  while read -r line; do
    echo "$line" >"$XDG_CONFIG_HOME/lockset/lockset.conf"
    code=0
    env -u LOCKSET_URL PGPASSWORD=x MYSQL_PWD=x REDISCLI_AUTH=x lockset status \
      >tls.out 2>&1 || code=$?
    case "$code $(cat tls.out)" in
      69*) ;;
      *'the hiredis of this build has none'*) ;;
      *) echo "$line: exit $code: $(cat tls.out)" ;;
    esac
  done >tls.wrong
same 'guide: TLS' '' "$(cat tls.wrong)"
rm "$XDG_CONFIG_HOME/lockset/lockset.conf"

# From flock: the file of settings is written, and both lines of the crontab run the job.
run_block coming-from/coming-from-flock-consul-lock-or-etcdctl-lock.sh "s|/etc/|$work/|"
contains 'coming from flock: the settings' "$(cat lockset.conf)" 'url = postgresql://app@db/prod'
sed -E "s/^([^ ]+ +){5}root +//; s|/run/lock|$work|; s/--at-least 60s/--at-least 1ms/; s/ # .*//" \
  "$pages/coming-from/flock-1.text" >crontab.sh
exits 0 bash -eu crontab.sh
same 'coming from flock: it ran twice' 2 "$(printf '%s\n' "$out" | grep -c '^sync')"
finish
