# A private server for a test of the command. Source it after lib.sh.
# shellcheck shell=bash
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
server_jobs=() server_dirs=()

# required NAME: LOCKSET_TEST_REQUIRE names it ("all", or names with commas between). The same rule
# as in tests/support/requirement.h.
required() { case ,$required_names, in *,all,* | *",$1,"*) ;; *) return 1 ;; esac; }

# need_server KIND: if there can't be one here, ends the test with 77 for "skipped", or with 1 if it
# is required.
need_server() {
  local why
  why=$("$scripts/server" "$1" check) && return 0
  echo "$why" >&2
  if required "$1"; then exit 1; fi
  exit 77
}

# run_server KIND: starts one that ends with this shell, however the shell ends. $server_dir
# contains what scripts/server documents, $admin_url is its address with a password.
run_server() {
  server_kind=$1
  # Not in $work, because the server's own user has no access to it.
  server_dir=$(mktemp -d "${TMPDIR:-/tmp}/lockset-cli-server.XXXXXX")
  mkfifo "$work/$1.keep"
  "$scripts/server" "$1" run "$server_dir" <"$work/$1.keep" >"$work/$1.url" 2>"$work/$1.log" &
  server_jobs+=("$!")
  server_dirs+=("$server_dir")
  local pipe
  exec {pipe}>"$work/$1.keep"
  soon filled "$work/$1.url" || {
    cat "$work/$1.log" >&2
    exit 1
  }
  admin_url=$(cat "$work/$1.url")
}
# server COMMAND: stop, start, kill, pause or resume the last one.
server() { "$scripts/server" "$server_kind" "$1" "$server_dir" 2>>"$work/server.log"; }

end_servers() {
  [ ${#server_jobs[@]} -eq 0 ] || kill "${server_jobs[@]}" 2>/dev/null
  local dir
  for dir in "${server_dirs[@]:+${server_dirs[@]}}"; do
    soon test ! -e "$dir"
  done
  clean_up
}
trap end_servers EXIT

# address USER [PASSWORD [DATABASE]]: an address of the last server.
address() {
  local scheme=${admin_url%%:*}
  printf '%s://%s@127.0.0.1:%s/%s\n' "$scheme" "$1${2:+:$2}" "$(cat "$server_dir/port")" \
    "${3:-lockset}"
}
