# Part of scripts/server: commands for one member of an ensemble (server-zookeeper.sh).

# one COMMAND MEMBER
one() {
  local pids
  case "$2" in
    [123]) ;;
    *) usage ;;
  esac
  pids=$(member_pids "$2")
  case "$1" in
    start)
      [ -z "$pids" ] || fail "Member $2 of the ensemble in $dir is running already."
      start_members "$2" || {
        tail -n 5 "$dir/server.log" >&2
        fail "Member $2 of the ensemble in $dir does not start; the end of the log stands above."
      }
      ;;
    pause) pause $pids ;;
    resume) signal CONT $pids ;;
    kill) kill_surely $pids ;;
  esac
}

# The number of the leading member; waits for an election, some seconds.
leader() {
  local member until=$((SECONDS + 60))
  while [ "$SECONDS" -lt "$until" ]; do
    for member in $(members); do
      case "$(ask "$member" srvr)" in
        *'Mode: leader'*)
          echo "$member"
          return 0
          ;;
      esac
    done
    doze 0.02
  done
  fail "The ensemble in $dir elects no leader."
}
