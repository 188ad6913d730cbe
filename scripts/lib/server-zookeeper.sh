# Part of scripts/server: Debian's ZooKeeper, one server or an ensemble of three. It runs as the
# user who starts it.

# Client ports; the members of an ensemble use separate ports among themselves.
server_ports() {
  local member
  for member in $(members); do
    if [ "$member" = 1 ]; then echo port; else echo "port-$member"; fi
    [ "$kind" = zookeeper ] || printf '%s\n' "port-$member-quorum" "port-$member-election"
  done
}

members() { if [ "$kind" = zookeeper ]; then echo 1; else echo 1 2 3; fi; }

# The address of a member for clients, and for the other members.
host_of() { if in_namespaces; then client_address "$1"; else echo 127.0.0.1; fi; }
peer_host_of() { if in_namespaces; then member_address "$1"; else echo 127.0.0.1; fi; }

client_port() { cat "$dir/port$([ "$1" = 1 ] || echo "-$1")"; }

# Both come with libzookeeper-java; the first one names its other dependencies.
class_path=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar

server_unavailable() {
  if [ ! -e /usr/share/java/zookeeper.jar ]; then
    echo 'ZooKeeper is not installed: install the Debian package libzookeeper-java.'
  elif ! command -v java >/dev/null; then
    echo 'Java is not installed: install the Debian package default-jre-headless.'
  elif ! command -v openssl >/dev/null; then
    echo 'openssl is not installed: install the Debian package openssl.'
  elif [ "${LOCKSET_SERVER_NETWORK:-}" = namespaces ]; then
    namespaces_unavailable
  else
    return 1
  fi
}

server_install() { install_missing libzookeeper-java default-jre-headless openssl; }

server_create() {
  local member
  mkdir "$dir/data"
  for member in $(members); do
    mkdir "$dir/data/$member"
    echo "$member" >"$dir/data/$member/myid"
  done
  touch "$dir/server.log"
  if [ "${LOCKSET_SERVER_NETWORK:-}" = namespaces ]; then make_namespaces; fi
  server_port_changed
}

server_port_changed() {
  local member servers='' hosts=''
  for member in $(members); do
    hosts+=${hosts:+,}$(host_of "$member"):$(client_port "$member")
    [ "$kind" = zookeeper ] ||
      servers+="server.$member=$(peer_host_of "$member"):$(cat "$dir/port-$member-quorum"):$(
        cat "$dir/port-$member-election")"$'\n'
  done
  echo "zookeeper://$hosts" >"$dir/url"
  for member in $(members); do
    cat >"$dir/data/$member/own.cfg" <<CONF
tickTime=100
minSessionTimeout=200
maxSessionTimeout=600000
initLimit=100
syncLimit=30
dataDir=$dir/data/$member
clientPort=$(client_port "$member")
clientPortAddress=$(host_of "$member")
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
$servers
CONF
  done
}

# All at once, because an ensemble answers only if most members run.
server_start() { start_members $(members); }

# start_members MEMBER...
start_members() {
  local member from began=$SECONDS launched processes=()
  from=$(($(wc -c <"$dir/server.log") + 1))
  for member in "$@"; do
    launch "$member"
    processes[member]=$launched
  done
  for member in "$@"; do
    until answers "$member"; do
      ! tail -c "+$from" "$dir/server.log" | grep -qi 'address already in use' || {
        kill_all
        return 1
      }
      alive "${processes[member]}" || return 1
      [ $((SECONDS - began)) -le 120 ] || return 1
      doze 0.02
    done
  done
}

# Whether it serves; a member without a majority can't, and need not.
answers() {
  local said
  said=$(ask "$1" srvr)
  case "$said" in
    *Mode:*) ;;
    *'not currently serving'*) [ "$(members | wc -w)" -gt 1 ] && ! majority ;;
    *) return 1 ;;
  esac
}

majority() {
  local member living=0
  for member in $(members); do [ -z "$(member_pids "$member")" ] || living=$((living + 1)); done
  [ "$living" -ge 2 ]
}

# ask MEMBER FOUR-LETTERS: prints the answer; nothing if the member is paused or does not run.
ask() {
  timeout 1 bash -c 'exec 3<>"/dev/tcp/$0" && printf "$1" >&3 && cat <&3' \
    "$(host_of "$1")/$(client_port "$1")" "$2" 2>/dev/null || true
}

# serve MEMBER: becomes that server. The options make a small JVM start quickly.
server_serve() {
  local member=$1 main=org.apache.zookeeper.server.ZooKeeperServerMain options=() digest clock
  [ "$kind" = zookeeper ] || main=org.apache.zookeeper.server.quorum.QuorumPeerMain
  [ "${LOCKSET_SERVER_FSYNC:-on}" != off ] || options=(-Dzookeeper.forceSync=no)
  digest=$(printf 'super:%s' "$(cat "$dir/password")" | openssl dgst -sha1 -binary |
    openssl base64)
  cd "$dir/data/$member"
  cat own.cfg "$dir/extra.conf" >zoo.cfg
  mapfile -t clock < <(with_clock)
  ! in_namespaces || clock=(nsenter "--net=/run/netns/$(namespace_of "$member")" "${clock[@]}")
  exec "${clock[@]}" java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xmx256m \
    -Dzookeeper.jmx.log4j.disable=true -Dzookeeper.preAllocSize=4096 \
    -Dzookeeper.DigestAuthenticationProvider.superDigest="super:$digest" \
    -Dorg.slf4j.simpleLogger.showDateTime=true \
    -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS "${options[@]}" \
    -cp "$class_path" "$main" zoo.cfg
}

server_stop() { end_all TERM 60; }

member_pids() { pids_in java "$dir/data/$1"; }

server_pids() {
  local member
  for member in $(members); do member_pids "$member"; done
}

server_removed() { remove_namespaces; }
