# The same program moves from store to store; only the URL in its configuration changes. One is
# compiled, one is a shell script around the command. An address that leads to a server of another
# kind gives one clear line.
#
#   move.sh PATH-OF-LOCKSET PATH-OF-PROGRAM KIND...      of the servers, as in scripts/server
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/private_server.sh"
program=${2:?usage: move.sh PATH-OF-LOCKSET PATH-OF-PROGRAM}
unset LOCKSET_URL
urls=("sqlite:$work/locks.db")
for kind in "${@:3}"; do need_server "$kind"; done
for kind in "${@:3}"; do
  run_server "$kind"
  urls+=("$admin_url")
done

cat >nightly.sh <<'S'
lockset=$1
"$lockset" permits set report --read 2 || exit
"$lockset" run --write data --read report -- sh -c '
  echo "$LOCKSET_NAMES"
  "$1" run --write data -n -- true 2>/dev/null
  echo "a second writer: $?"
  "$1" run --read report -n -- echo "a second reader: granted"' sh "$lockset" || exit
# If holds end with their process, this part needs another store.
case $LOCKSET_STORE in zookeeper) echo 2m && exec "$lockset" status ;; esac
stamp=$("$lockset" acquire --write export --lease 1m) || exit
"$lockset" renew "$stamp" --lease 2m
"$lockset" release "$stamp"
"$lockset" status
S
expected_script=$'write data\nread report\na second writer: 75\na second reader: granted\n2m\nnothing is held'
expected_program=$'both: valid\nws2 again: busy\nthe next stamp: greater\nheld: 0'

configuration=$XDG_CONFIG_HOME/lockset/lockset.conf
printf 'lease = 1m\nurl = \n' >"$configuration"
chmod 600 "$configuration"
for url in "${urls[@]}"; do
  sed -i "s|^url = .*|url = $url|" "$configuration"
  store=${url%%:*}
  exits 0 "$lockset" init
  exits 0 env "LOCKSET_STORE=$store" bash nightly.sh "$lockset"
  same "the script on $store" "$expected_script" "$out"
  exits 0 "$program" "$configuration"
  same "the program on $store" "$expected_program" "$out"
done

# Any two of them with their ports exchanged. Each scheme describes the error in its own words.
export LOCKSET_URL
for url in "${urls[@]:1}"; do
  for other in "${urls[@]:1}"; do
    [ "$url" != "$other" ] || continue
    port=${other##*:}
    LOCKSET_URL=$(printf '%s\n' "$url" | sed "s|127.0.0.1:[0-9]*|127.0.0.1:${port%%/*}|")?connect_timeout=1s
    begin=$(milliseconds)
    exits 69 "$lockset" run --write x -n -- touch "$work/ran"
    same 'a server of another kind: told soon' 1 "$(($(milliseconds) - begin < 15000))"
    one_line "${url%%:*}: to a server of another kind"
    contains "${url%%:*}: to a server of another kind" "$err" "127.0.0.1:${port%%/*}"
  done
done
false_that 'a command ran on a server of another kind' test -e "$work/ran"
finish
