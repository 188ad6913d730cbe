# Bare Debians in folders, made by debootstrap: scripts/in-debian, scripts/test-package. Source it
# after common.sh. It needs root.

debian_cache=${XDG_CACHE_HOME:-$HOME/.cache}/lockset

# fetch_debian RELEASE: 12, 13 or sid. Sets $debian to the tree, which has nothing but what
# debootstrap puts there; LOCKSET_DEBIAN12_ROOT and the like name another folder for it.
fetch_debian() {
  local release=$1 suite other
  case $release in
    12) suite=bookworm ;;
    13) suite=trixie ;;
    sid) suite=sid ;;
    *) echo "There is no Debian '$release' here; there are: 12, 13, sid" >&2; exit 64 ;;
  esac
  other=LOCKSET_DEBIAN${release^^}_ROOT
  debian=${!other:-$debian_cache/debian$release}
  [ ! -x "$debian/usr/bin/apt-get" ] || return 0
  install_missing debootstrap
  say "Fetching Debian $release to $debian"
  mkdir -p "$(dirname "$debian")"
  (
    flock 9
    [ ! -x "$debian/usr/bin/apt-get" ] || exit 0
    # A left-over part has no mounts; otherwise rm stops at them.
    rm -rf --one-file-system "$debian.part"
    debootstrap --variant=minbase "$suite" "$debian.part" >"$debian.log" 2>&1 || {
      echo "debootstrap failed: see $debian.log." >&2
      exit 1
    }
    # Its index is valid for a week; a mirror may keep it for longer.
    [ "$release" != sid ] ||
      echo 'Acquire::Check-Valid-Until "false";' >"$debian.part/etc/apt/apt.conf.d/90mirror"
    mv "$debian.part" "$debian"
  ) 9>"$debian.lock"
}
