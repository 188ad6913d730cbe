# Part of scripts/server: an ensemble whose members run in separate network namespaces, so that they
# can be cut off from each other while clients reach all of them. Each member has two networks: one
# to the host, for clients, and one joined by a bridge, for the members.

namespaces_unavailable() {
  if ! command -v ip >/dev/null || ! command -v bridge >/dev/null; then
    echo 'Network namespaces need ip and bridge: install the Debian package iproute2.'
  elif ! unshare --net true 2>/dev/null; then
    echo 'Network namespaces need the right to make them: run this as root.'
  else
    return 1
  fi
}

in_namespaces() { [ -e "$dir/namespaces" ]; }

# Names and addresses depend on the port that this server has claimed: nobody else has it.
net_id() { cat "$dir/namespaces"; }
net_prefix() {
  local id
  id=$(($(net_id) - 10000))
  echo "10.$((100 + id / 256)).$((id % 256))"
}
namespace_of() { echo "lockset-$(net_id)-$1"; }
client_address() { echo "$(net_prefix).$((16 * $1 + 2))"; }
member_address() { echo "$(net_prefix).$1"; }
bridge_port() { echo "lsq$(net_id)-$1"; }

make_namespaces() {
  local id member ns prefix
  cp "$dir/port" "$dir/namespaces"
  id=$(net_id)
  prefix=$(net_prefix)
  ip link add "lsb$id" type bridge
  ip link set "lsb$id" up
  for member in $(members); do
    ns=$(namespace_of "$member")
    ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip link add "lsc$id-$member" type veth peer name clients netns "$ns"
    ip addr add "$prefix.$((16 * member + 1))/30" dev "lsc$id-$member"
    ip link set "lsc$id-$member" up
    ip -n "$ns" addr add "$(client_address "$member")/30" dev clients
    ip -n "$ns" link set clients up
    ip link add "$(bridge_port "$member")" type veth peer name members netns "$ns"
    ip link set "$(bridge_port "$member")" master "lsb$id" up
    ip -n "$ns" addr add "$(member_address "$member")/28" dev members
    ip -n "$ns" link set members up
    client_address "$member" >"$dir/address-$member"
  done
}

remove_namespaces() {
  local member
  in_namespaces || return 0
  for member in $(members); do
    ip netns del "$(namespace_of "$member")" 2>/dev/null || true
    ip link del "lsc$(net_id)-$member" 2>/dev/null || true
    ip link del "$(bridge_port "$member")" 2>/dev/null || true
  done
  ip link del "lsb$(net_id)" 2>/dev/null || true
}

# Nothing passes between this member and the others; no connection notices that.
cut_off() { ip link set "$(bridge_port "$1")" down; }

# The two others hear this member, but not each other.
cut_apart() {
  local member
  for member in $(members); do
    [ "$member" = "$1" ] || bridge link set dev "$(bridge_port "$member")" isolated on
  done
}

rejoin() {
  local member
  for member in $(members); do
    bridge link set dev "$(bridge_port "$member")" isolated off
    ip link set "$(bridge_port "$member")" up
  done
}
