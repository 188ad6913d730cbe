# Part of scripts/server: a real MySQL, which Debian 12 does not have: Debian unstable's, in a
# separate tree. It runs with the tree's own C library, without chroot. So it needs no root, mounts
# nothing, and its data is in the same place as that of every other server.

mysql_root() {
  echo "${LOCKSET_MYSQL_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/lockset/mysql}"
}

exec_mysqld() {
  local tree libraries clock
  tree=$(mysql_root)
  libraries=$(echo "$tree"/usr/lib/*-linux-gnu*/)
  mapfile -t clock < <(with_clock)
  exec "${clock[@]}" "$(echo "$tree"/usr/lib/*-linux-gnu*/ld-linux*.so.*)" \
    --library-path "${libraries// /:}" "$tree/usr/sbin/mysqld" --no-defaults --basedir="$tree/usr" \
    --lc-messages-dir="$tree/usr/share/mysql" --plugin-dir="$tree/usr/lib/mysql/plugin" "$@"
}

server_unavailable() {
  if [ ! -x "$(mysql_root)/usr/sbin/mysqld" ]; then
    echo "MySQL is not installed: run 'scripts/server mysql install' as root."
  elif ! command -v openssl >/dev/null; then
    echo 'openssl is not installed: install the Debian package openssl.'
  else
    return 1
  fi
}

# Some 500 MB. The tree gets its name when it is complete.
server_install() {
  local tree part
  tree=$(mysql_root)
  [ ! -x "$tree/usr/sbin/mysqld" ] || return 0
  [ "$(id -u)" -eq 0 ] || fail "To install MySQL needs root, for debootstrap."
  install_missing debootstrap openssl
  say "Fetching MySQL to $tree"
  mkdir -p "$(dirname "$tree")"
  (
    flock 9
    [ ! -x "$tree/usr/sbin/mysqld" ] || exit 0
    part=$tree.part
    # A left-over part has no mounts; otherwise rm stops at them.
    rm -rf --one-file-system "$part"
    debootstrap --variant=minbase --include=mysql-server-core,libaio1t64 sid "$part" \
      >"$tree.log" 2>&1 || fail "debootstrap failed: see $tree.log."
    rm -rf "$part/var/cache/apt" "$part/var/lib/apt/lists"
    # The server's own user needs access to it.
    chmod 755 "$part"
    rm -rf "$tree"
    mv "$part" "$tree"
  ) 9>"$tree.lock"
}

data_template() { echo "$(mysql_root)/initialised"; }

initialise_data() {
  local others=()
  [ "$(id -u)" -ne 0 ] || others=(--user="$(server_user)")
  (exec_mysqld --initialize-insecure --datadir="$dir/data" "${others[@]}")
}

server_options() {
  echo --mysqlx=OFF
  echo --secure-file-priv=NULL
  echo --innodb-buffer-pool-size=64M
  echo --innodb-redo-log-capacity=64M
}
