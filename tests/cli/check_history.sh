# check-history: verdicts, stories, unreadable files.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# A command that asks no store needs none.
export LOCKSET_URL=sqlite:/nonexistent/locks.db

mkdir good bad
cat >good/a.log <<'END'
lockset-history 1 a
1000000 ask op=1 set=w:job%201/1 lease=2000000000 wait=0
2000000 granted op=1 stamp=10 until=900000000 floors=
3000000 release stamp=10
4000000 released stamp=10
END
cat >good/b.log <<'END'
lockset-history 1 b
2000000 ask op=1 set=w:job%201/1 lease=2000000000 wait=0
2500000 busy op=1 name=job%201 witness=10
5000000 ask op=2 set=w:job%201/1 lease=2000000000 wait=0
6000000 granted op=2 stamp=11 until=900000000 floors=
END
exits 0 "$lockset" check-history good/a.log good/b.log
contains "counts" "$out" "grants                        2"
contains "verdict" "$out" "I1 exclusion       none"
same "nothing on standard error" "" "$err"
together=$out
exits 0 "$lockset" check-history good
same "a folder stands for its files" "$together" "$out"

# The second holder comes before the first one gave up.
cp good/a.log bad/
sed 's/^5000000 ask/2600000 ask/; s/^6000000 granted/2700000 granted/' good/b.log >bad/b.log
exits 1 "$lockset" check-history bad
contains "the story" "$out" 'I1 exclusion is broken: name "job 1" at 1.7 ms: 2 write holds at once'
contains "the story" "$out" 'op 2 of b, asked at 1.6 ms, granted stamp 11 at 1.7 ms'
contains "the verdict" "$out" "I1 exclusion       1"

# A cut last line is no fault; a run that shows nothing is one.
printf '7000000 lost sta' >>good/b.log
exits 0 "$lockset" check-history good
printf 'lockset-history 1 c\n1 expect grants=3 overlaps=0 busy=0 faults=0 wakeups=0 ends=0\n' >good/c.log
exits 1 "$lockset" check-history good
contains "vacuous" "$out" "Shows too little: only 2 grants, expected 3 at least"
rm good/c.log

# Stamps that follow time only for each name.
mkdir apart
sed 's/stamp=10/stamp=12/; s/job%201/other/' good/a.log >apart/a.log
grep -v busy good/b.log | sed '2d' | grep -v lost >apart/b.log
exits 1 "$lockset" check-history apart
contains "stamps against time" "$out" "I2 fencing order is broken"
exits 0 "$lockset" check-history --per-name apart

# Files that can't be read.
refused() {
  local code=$1 part=$2
  shift 2
  exits "$code" "$@"
  one_line "$*"
  contains "$*" "$err" "$part"
  same "$*: standard output" "" "$out"
}
refused 64 'check-history FILE' "$lockset" check-history
refused 64 '--json' "$lockset" check-history --json good
refused 65 'nowhere: No such file' "$lockset" check-history nowhere
mkdir empty
refused 65 'without files' "$lockset" check-history empty
printf '8 lsot stamp=1\n9 lost stamp=1\n' >>bad/a.log
refused 65 'bad line 6 of the history bad/a.log: expected a kind of event, not "lsot"' \
  "$lockset" check-history bad
echo hello >text
refused 65 'bad line 1 of the history text' "$lockset" check-history text
printf 'lockset-history 1 a\n1 refused op=4\n' >odd.log
refused 65 'line 2 of odd.log: op=4 was never asked' "$lockset" check-history odd.log
refused 65 'two logs of the process "a"' "$lockset" check-history odd.log odd.log
finish
