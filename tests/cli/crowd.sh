# Two hundred who start at once on one file, and may wait: all are served, though single calls
# to the store find it busy for longer than they may take. SEM 13
. "$(dirname "$0")/lib.sh"
crowd=200
# A release that comes too late leaves the rest to the lease.
# Nobody finds the space ready: to make it is part of what they crowd at.
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
