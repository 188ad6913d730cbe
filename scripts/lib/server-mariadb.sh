# Part of scripts/server: Debian's MariaDB.

exec_mysqld() {
  local clock
  mapfile -t clock < <(with_clock)
  exec "${clock[@]}" /usr/sbin/mariadbd --no-defaults "$@"
}

server_unavailable() {
  # mariadb-install-db needs my_print_defaults, which comes with the client.
  if [ ! -x /usr/sbin/mariadbd ] || [ ! -x /usr/bin/my_print_defaults ]; then
    echo 'MariaDB is not installed: install the Debian packages mariadb-server-core and' \
      'mariadb-client-core.'
  elif ! command -v openssl >/dev/null; then
    echo 'openssl is not installed: install the Debian package openssl.'
  else
    return 1
  fi
}

server_install() { install_missing mariadb-server-core mariadb-client-core openssl; }

# Another version has another template.
data_template() {
  local version
  version=$(/usr/sbin/mariadbd --no-defaults --version | sed 's/.* Ver \([^ ]*\).*/\1/')
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/lockset/mariadb-${version//\//-}"
}

initialise_data() {
  local others=()
  [ "$(id -u)" -ne 0 ] || others=(--user="$(server_user)")
  mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve --innodb-flush-log-at-trx-commit=0 "${others[@]}"
}

server_options() {
  echo --innodb-buffer-pool-size=64M
  if [ "${LOCKSET_SERVER_FSYNC:-on}" = off ]; then echo --debug-no-sync; fi
}
