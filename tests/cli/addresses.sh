# Wrong addresses of stores with a server: one line with the faulty part, exit 78, and no server is
# asked. No server runs here.
#
#   addresses.sh PATH-OF-LOCKSET SCHEME...      those that are built
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
secret=hunter2

# bad CULPRIT URL: from the environment, because it may contain a password.
bad() {
  exits 78 env "LOCKSET_URL=$2" "$lockset" status
  one_line "$2"
  contains "$2" "$err" "$1"
  case $2 in *password_file=*) ;; *) contains "$2: where it comes from" "$err" LOCKSET_URL ;; esac
  lacks "$2" "$err$out" "$secret"
  exits 78 env "LOCKSET_URL=$2" "$lockset" run --write x -- touch "$work/ran"
  exits 78 env "LOCKSET_URL=$2" "$lockset" doctor
  lacks "$2, doctor" "$err$out" "$secret"
}

# Common to all networked stores; AT is an address up to its host.
bad_for_all() {
  local at=$1 path=$2
  for port in abc 0 65536 -1 '' '1x' 99999999999; do
    bad "the port in \"host:$port\" must be 1 to 65535" "${at}host:$port$path"
  done
  bad 'no ] behind "[::1"' "${at}[::1$path"
  bad 'two colons in "::1"' "${at}::1$path"
  bad 'no name of a host' "${at}ho st$path"
  bad 'unknown parameter "spcae"' "${at}host$path?spcae=x"
  bad 'space must be 1 to 32' "${at}host$path?space=Bad-Name"
  bad 'space must be 1 to 32' "${at}host$path?space="
  bad 'pool must be 1 to 1000, not "0"' "${at}host$path?pool=0"
  bad 'connect_timeout must be 100ms to 1h, not "tomorrow"' "${at}host$path?connect_timeout=tomorrow"
  bad 'given twice' "${at}host$path?space=a&space=b"
  bad 'key=value' "${at}host$path?space"
}

for scheme in "${@:2}"; do
  case $scheme in
    postgresql)
      bad_for_all "postgresql://app:$secret@" /jobs
      bad 'postgresql://user@host' "postgresql:host/jobs"
      bad '"jobs/x"' "postgresql://app@host/jobs/x"
      bad 'listen is on or off' "postgresql://app@host/jobs?listen=yes"
      ;;
    mysql)
      bad_for_all "mysql://app:$secret@" /jobs
      bad 'names a user' "mysql://host/jobs"
      bad 'names a user' "mysql:host/jobs"
      bad 'names a database' "mysql://app@host"
      bad 'names one server' "mysql://app@h1,h2/jobs"
      bad 'password_file "/nowhere/file"' "mysql://app@host/jobs?password_file=/nowhere/file"
      ;;
    redis)
      bad_for_all "redis://:$secret@" /0
      bad 'redis://host:6379/0' "redis:host"
      bad 'redis://host:6379/0' "redis:/host:6379/0"
      bad 'a database number: /0, not "/-1"' "redis://host/-1"
      bad 'a database number: /0, not "/abc"' "redis://host/abc"
      bad 'a database number: /0, not "/0/1"' "redis://host/0/1"
      bad 'a database number: /0, not "/ 1"' "redis://host/ 1"
      bad 'names one server' "redis://h1,h2/0"
      bad 'user "app" has no password' "redis://app@host/0"
      bad 'rediss: addresses' "redis://host/0?ssl_ca=/etc/ca.pem"
      bad 'belong together' "rediss://host/0?ssl_cert=/etc/cert.pem"
      bad 'password_file "/nowhere/file"' "redis://host/0?password_file=/nowhere/file"
      ;;
    memcached)
      bad_for_all "memcached://" ''
      bad '//HOST:PORT/SPACE' "memcached:host"
      bad 'names one server' "memcached://h1,h2/jobs"
      bad 'space' "memcached://host/jobs/x"
      bad 'not in both' "memcached://host/jobs?space=other"
      bad 'first' "memcached://host/jobs?first=perhaps"
      ;;
    zookeeper)
      bad_for_all "zookeeper://app:$secret@" /jobs
      bad 'zookeeper://host:2181/path' "zookeeper:host/jobs"
      bad 'an empty host in "h1,,h2"' "zookeeper://h1,,h2/jobs"
      bad 'an empty host in "h1,"' "zookeeper://h1,/jobs"
      bad 'no path of ZooKeeper: "/a//b"' "zookeeper://host/a//b"
      bad 'no path of ZooKeeper' "zookeeper://host/a/../b"
      bad 'user "app" has no password' "zookeeper://app@host/jobs"
      bad 'names the user' "zookeeper://:$secret@host/jobs"
      bad 'session_timeout must be 1s to 1h' "zookeeper://host/jobs?session_timeout=1ms"
      bad 'password_file "/nowhere/file"' "zookeeper://app@host/?password_file=/nowhere/file"
      ;;
  esac
done
false_that 'a command ran without a store' test -e "$work/ran"
# No server listens: reported as soon as that is known, not when the store might have answered.
for scheme in "${@:2}"; do
  authority=127.0.0.1:1
  [ "$scheme" != mysql ] || authority=app@$authority
  begin=$(milliseconds)
  exits 69 "$lockset" run -n --io-timeout 10m --write x \
    --url "$scheme://$authority/0?connect_timeout=1h" -- touch "$work/ran"
  one_line "$scheme refused"
  true_that "$scheme refused: told at once" test $(($(milliseconds) - begin)) -lt 60000
done
finish
