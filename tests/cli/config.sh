# Configuration: precedence, the file, secrets.
. "$(dirname "$0")/lib.sh"
unset LOCKSET_URL
user_file=$XDG_CONFIG_HOME/lockset/lockset.conf

# The application id in force, as a refused release shows it.
app() { "$lockset" release 5 "$@" 2>&1 | sed -n 's/.*application "\([^"]*\)".*/\1/p'; }

contains "default application id" "$(app)" @
echo 'app = from-file' >"$user_file"
same "file before default" from-file "$(app)"
same "environment before file" from-environment "$(LOCKSET_APP=from-environment app)"
same "flag before environment" from-flag "$(LOCKSET_APP=from-environment app --app from-flag)"
same "an empty variable is none" from-file "$(LOCKSET_APP='' app)"
echo 'app = from-named' >named.conf
echo 'app = from-variable' >variable.conf
same "--config instead" from-named "$(app --config named.conf)"
same "LOCKSET_CONFIG instead" from-variable "$(LOCKSET_CONFIG=variable.conf app)"
same "--config before LOCKSET_CONFIG" from-named "$(LOCKSET_CONFIG=variable.conf app --config named.conf)"
contains "no file" "$(app --config /dev/null)" @
rm "$user_file"
mkdir -p "$HOME/.config/lockset"
echo 'app = from-home' >"$HOME/.config/lockset/lockset.conf"
same "~/.config without XDG_CONFIG_HOME" from-home "$(unset XDG_CONFIG_HOME; app)"
echo 'app = from-here' >lockset.conf
contains "not from the working directory" "$(app)" @

# The format of the file.
printf '\n# comment\n  app=with#sign  # and a comment\n\n' >"$user_file"
same "comments and blanks" 'with#sign' "$(app)"
printf 'url = sqlite:%s/other.db\n' "$work" >"$user_file"
exits 0 "$lockset" run --write x -- true
true_that "the file's address is used" test -e other.db

bad_file() {  # CONTENT PART...
  printf '%b' "$1" >"$user_file"
  shift
  exits 78 "$lockset" status
  one_line "bad file"
  for part in "$user_file:" "$@"; do contains "bad file" "$err" "$part"; done
}
bad_file 'app = a\n\nlaese = 3s\n' ':3:' '"laese"' 'lease'
bad_file 'zzzzzzzz = 1\n' ':1:' '"zzzzzzzz"' 'known are url'
bad_file 'lease = 3x\n' ':1:' 'lease' '"3x"'
bad_file 'grace\n' ':1:' 'key = value'
bad_file 'read = x\n' ':1:' '"read"' 'command line only'
bad_file 'app = a\napp = b\n' ':2:' '"app"' ':1'
bad_file '[section]\nfrom = a\n' ':2:' '"section.from"'
bad_file 'url = nosuch:x\n' '"nosuch:"' ':1'
rm "$user_file"
exits 78 "$lockset" status --config "$work/missing.conf"
contains "a missing file that was named" "$err" missing.conf
exits 78 env LOCKSET_LEASE=3x "$lockset" status
contains "bad variable" "$err" LOCKSET_LEASE

# Unknown variables.
exits 0 env LOCKSET_LAESE=3s "$lockset" status
contains "misspelt variable" "$err" 'did you mean LOCKSET_LEASE'
exits 0 env LOCKSET_STAMP=1 LOCKSET_NAMES='write x' LOCKSET_SOMETHING_ELSE=1 "$lockset" status
same "variables of others" "" "$err"

# Durations and waits from the configuration.
hold busy
LOCKSET_URL=
exits 124 env LOCKSET_WAIT=50ms "$lockset" run --write busy -- true
exits 75 env LOCKSET_WAIT=50s "$lockset" run --write busy -n -- true
exits 11 env LOCKSET_CONFLICT_EXIT_CODE=11 "$lockset" run --write busy -n -- true
printf 'wait = 50ms # short\n' >"$user_file"
exits 124 "$lockset" run --write busy -- true
rm "$user_file"
release_it

# Secrets.
secret=hunter2
exits 64 "$lockset" status --url "nosuch://user:$secret@host/db"
lacks "password on the command line" "$err$out" "$secret"
contains "password on the command line" "$err" LOCKSET_URL
exits 64 "$lockset" status --url "nosuch://host/db?password=$secret"
lacks "password parameter" "$err$out" "$secret"
address="mysql://user:$secret \"$secret@host/db"
wrong_place() {
  exits "$@"
  lacks "an address in the wrong place: ${*:3}" "$err$out" "$secret"
  contains "an address in the wrong place: ${*:3}" "$err" 'mysql://user:***@host/db'
}
wrong_place 64 "$lockset" "$address"
wrong_place 64 "$lockset" init "$address"
wrong_place 64 "$lockset" release "$address"
wrong_place 64 "$lockset" "--$address"
wrong_place 64 "$lockset" run --lease "$address" --write x -- true
wrong_place 64 "$lockset" run --on-lost "$address" --write x -- true
address="mysql://user:$secret@host/db"
wrong_place 78 "$lockset" status --config "$address"
exits 78 env "LOCKSET_URL=nosuch://user:$secret@host/db" "$lockset" status
lacks "password in the environment" "$err$out" "$secret"
contains "password in the environment" "$err" '***'
printf 'url = nosuch://user:%s@host/db\n' "$secret" >"$user_file"
chmod 644 "$user_file"
exits 78 "$lockset" status
contains "a file that everybody may read" "$err" 'warning'
contains "a file that everybody may read" "$err" 'chmod'
lacks "password in the file" "$err$out" "$secret"
chmod 600 "$user_file"
exits 78 "$lockset" status
one_line "a file that is kept private"
printf '%s\n' "$secret" >"$user_file"
exits 78 "$lockset" status
lacks "a line without a key" "$err$out" "$secret"
finish
