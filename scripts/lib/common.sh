# Shared by the scripts: prints messages, installs what is missing. Source it from a script in
# scripts/.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"

say() { printf '\n== %s\n' "$*"; }

# Debian packages: to build the command, the client library of each store, for the tests, and for
# the gate.
command_packages=(g++ cmake ninja-build pkg-config libboost-program-options-dev nlohmann-json3-dev)
declare -A client_package=([sqlite]=libsqlite3-dev [postgresql]=libpqxx-dev
  [mysql]='libmysqlcppconn-dev libmariadb-dev' [redis]='libhiredis-dev libssl-dev'
  [zookeeper]=libzookeeper-mt-dev [memcached]=libmemcached-dev)
# shellcheck disable=SC2206  # split into words
build_packages=("${command_packages[@]}" ${client_package[@]})
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev libboost-dev libboost-context-dev
  sqlite3 util-linux procps postgresql pgbouncer mariadb-server-core mariadb-client-core openssl
  redis-server memcached libzookeeper-java default-jre-headless iproute2 lighttpd
  lighttpd-mod-webdav curl python3)
gate_packages=(clang-format debootstrap python3)

# install_missing PACKAGE...: quick when nothing is missing.
install_missing() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "These Debian packages are missing: ${missing[*]}. Install them, or run this as root." >&2
      exit 1
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  (
    # Don't start a server that comes as a package: the tests start their own.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap '"${as_root[@]}" rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends "${missing[@]}" >/dev/null
  )
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  say "Building (preset $preset)"
  cmake --preset "$preset" ${LOCKSET_CMAKE_FLAGS:-} >"/tmp/lockset-configure.$$" || {
    cat "/tmp/lockset-configure.$$"
    exit 1
  }
  rm -f "/tmp/lockset-configure.$$"
  cmake --build --preset "$preset" ${1:+--target "$@"}
}
