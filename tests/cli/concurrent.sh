# Eight shells add 1 to a plain file, 25 times each (or as many as the second argument
# says): no addition is lost.
. "$(dirname "$0")/lib.sh"
times=${2:-25}
shells=8
echo 0 >counter
add='read -r n <counter; echo $((n + 1)) >counter'
adder() {
  local i
  for ((i = 0; i < times; i++)); do
    "$lockset" run --write counter -- sh -c "$add" || return 1
  done
}
pids=()
for _ in $(seq $shells); do
  start adder
  pids+=("$pid")
done
for pid in "${pids[@]}"; do ends 0; done
same "sum" $((shells * times)) "$(cat counter)"
true_that "nothing is held" free counter
finish
