# Two hundred processes start at once on one file, and may wait: all are served, although single
# calls find the store busy for longer than a call may take. SEM 13
. "$(dirname "$0")/lib.sh"
crowd=200
# If a release comes too late, the hold ends with its lease. The space does not exist yet: making it
# is part of the test.
for i in $(seq $crowd); do
  start "$lockset" run --io-timeout 500ms --patience 10m --lease 5s --write crowd -- \
    sh -c 'echo "$LOCKSET_STAMP" >>served' 2>"$i.err"
  pids[i]=$pid
done
for i in $(seq $crowd); do
  pid=${pids[i]}
  ends 0
done
same "served" $crowd "$(sort -u served | wc -l)"
finish
