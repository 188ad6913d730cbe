# Passwords: where they may come from, and that nobody else can see them. For servers: shown_nowhere
# in server_lib.sh, and the test of each store.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
secret=hunter2

# The command line refuses them, anywhere in the address, even if the user forgot to escape
# characters.
for url in "nosuch://user:$secret@host/db" "nosuch://host/db?password=$secret" \
  "nosuch://host/db?a=b&sslpassword=$secret" "nosuch://host/db?PassWord=$secret" \
  "nosuch://host/db?pass%77ord=$secret" "nosuch://host/db?pwd=$secret" \
  "nosuch://user:a/$secret@host/db" "nosuch://user:a?$secret@host/db" \
  "nosuch://user:a@$secret@host/db" "nosuch:user:$secret@host/db" "user:$secret@host/db"; do
  exits 64 "$lockset" status --url "$url"
  one_line "$url"
  contains "$url" "$err" LOCKSET_URL
  lacks "$url" "$err$out" "$secret"
  exits 78 env "LOCKSET_URL=$url" "$lockset" status
  one_line "$url in the environment"
  lacks "$url in the environment" "$err$out" "$secret"
  exits 78 env "LOCKSET_URL=$url" "$lockset" doctor
  lacks "$url, doctor" "$err$out" "$secret"
  exits 78 env "LOCKSET_URL=$url" "$lockset" init --print
  lacks "$url, init --print" "$err$out" "$secret"
done
# The name of a file with a password is no secret; nor is an @ in a value.
exits 78 "$lockset" status --url "nosuch://user@host/db?password_file=/run/secret"
contains "the name of a file" "$err" 'password_file=/run/secret'
exits 78 "$lockset" status --url "nosuch://host:1/db?label=me@there"
contains "an @ in a value" "$err" 'label=me@there'

# The two addresses of a move are checked one by one.
exits 64 "$lockset" status --url "migrate:?from=nosuch%3A%2F%2Fu%3A$secret%40host&to=sqlite%3A$work%2Fb"
contains "a password in an inner address" "$err" LOCKSET_URL
lacks "a password in an inner address" "$err" "$secret"
exits 78 "$lockset" status --url "migrate:?from=nosuch%3A%2F%2Fu%40host&to=sqlite%3A$work%2Fb"
contains "no password in either" "$err" '"nosuch:"'
exits 78 env "LOCKSET_URL=migrate:?from=nosuch%3A%2F%2Fu%3A$secret%40host&to=sqlite%3A$work%2Fb" "$lockset" status
lacks "a password in an inner address in the environment" "$err$out" "$secret"

# A file with the password: by flag, variable and configuration file.
printf '%s\n' "$secret" >password
chmod 600 password
with_password='nosuch://user:***@host:1/db?a=b'
export LOCKSET_URL='nosuch://user@host:1/db?a=b'
exits 78 "$lockset" status --password-file password
contains "by flag" "$err" "$with_password"
exits 78 env LOCKSET_PASSWORD_FILE=password "$lockset" status
contains "by variable" "$err" "$with_password"
printf 'password-file = %s\n' "$work/password" >"$XDG_CONFIG_HOME/lockset/lockset.conf"
exits 78 "$lockset" status
contains "by configuration" "$err" "$with_password"
lacks "by configuration" "$err" "$secret"
exits 78 "$lockset" status --url 'nosuch://host'
contains "an address without a user" "$err" 'nosuch://:***@host'
exits 78 env 'LOCKSET_URL=nosuch://user:@host/db' "$lockset" status
contains "an empty password" "$err" 'nosuch://user:***@host/db'
exits 78 "$lockset" status --url 'nosuch://user@/db?socket=/run/s'
contains "an address whose host is a parameter" "$err" 'nosuch://user:***@/db?socket=/run/s'
exits 78 "$lockset" status --url 'nosuch:///db?host=/run'
contains "neither user nor host" "$err" 'nosuch://:***@/db?host=/run'
exits 0 "$lockset" status --url "sqlite:$work/locks.db"
same "a store without a server has no password" "" "$err"
rm "$XDG_CONFIG_HOME/lockset/lockset.conf"

refused() {  # CULPRIT COMMAND...
  local culprit=$1
  shift
  exits 78 "$@"
  one_line "$culprit"
  contains "$culprit" "$err" "$culprit"
  lacks "$culprit" "$err$out" "$secret"
}
refused '"missing" can'\''t be read' "$lockset" status --password-file missing
refused '"'"$work"'" can'\''t be read' "$lockset" status --password-file "$work"
printf '\n%s\n' "$secret" >empty
chmod 600 empty
refused 'nothing on its first line' "$lockset" status --password-file empty
refused 'has a password already' env "LOCKSET_URL=nosuch://user:$secret@host/db" \
  "$lockset" status --password-file password
refused LOCKSET_PASSWORD_FILE env LOCKSET_PASSWORD_FILE=missing "$lockset" status
chmod 644 password
exits 78 "$lockset" status --password-file password
contains "a file that everybody may read" "$err" 'warning'
contains "a file that everybody may read" "$err" 'chmod o-r'
lacks "a file that everybody may read" "$err" "$secret"
finish
