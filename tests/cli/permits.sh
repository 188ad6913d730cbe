# permits: readers that share.
. "$(dirname "$0")/lib.sh"

exits 0 "$lockset" permits get x
same "default" $'read 1\nwrite 1' "$out"
exits 0 "$lockset" permits set '*' --read 100
exits 0 "$lockset" permits set licence --write 5
exits 0 "$lockset" permits get x
same "by default" $'read 100\nwrite 1' "$out"
exits 0 "$lockset" permits get licence
same "with an entry" $'read 100\nwrite 5' "$out"
exits 0 "$lockset" permits list
same "list" $'NAME     READ     WRITE\n*        100      1\nlicence  default  5' "$out"
exits 0 "$lockset" permits list --json
contains "list as JSON" "$out" '"licence"'
exits 0 "$lockset" permits unset licence
exits 0 "$lockset" permits get licence
same "unset" $'read 100\nwrite 1' "$out"

# All of them read at the same time; otherwise none would continue.
readers=8
for i in $(seq $readers); do
  start "$lockset" run --read shared -w 30s -- sh -c '
    touch "in.$1"
    until [ "$(ls in.* | wc -l)" -eq "$2" ]; do sleep 0.02; done' sh "$i" $readers
  pids+=("$pid")
done
for pid in "${pids[@]}"; do ends 0; done

start "$lockset" run --read shared -- sh -c 'touch reads; while [ ! -e over ]; do sleep 0.02; done'
soon test -e reads
exits 75 "$lockset" run --write shared -n -- true
exits 0 "$lockset" run --read shared -n -- true
exits 0 "$lockset" permits unset '*'
exits 75 "$lockset" run --read shared -n -- true
touch over
ends 0
finish
