# The manual pages of the installed command, as man shows them. (Some images of Debian leave manuals
# out; debootstrap does not.)
set -eu
export MANWIDTH=80 MANPAGER=cat LC_ALL=C.UTF-8
pages=$(dpkg -L lockset | sed -n 's|^/usr/share/man/man[0-9]/\(.*\)\.\([0-9]\)\.gz$|\1(\2)|p')
for page in 'lockset(1)' 'lockset-run(1)' 'lockset.conf(5)' 'lockset-backends(7)'; do
  case " $(echo $pages) " in *" $page "*) ;; *) echo "no page $page in: $pages" >&2; exit 1 ;; esac
done
for page in $pages; do
  name=${page%(*} section=${page#*(}
  man --warnings "${section%)}" "$name" >/tmp/page 2>/tmp/said
  # Long addresses and paths can't be broken: groff says so, and the page is readable.
  sed -i '/cannot adjust line/d' /tmp/said
  test ! -s /tmp/said || { echo "$page:" && cat /tmp/said && exit 1; }
  grep -q '^NAME' /tmp/page
done
man lockset | sed -n '1,/^SYNOPSIS/p'
