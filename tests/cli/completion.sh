# Completion in bash, and in zsh and fish where they are installed.
. "$(dirname "$0")/lib.sh"
# The scripts ask the command that is in PATH.
PATH=$(dirname "$lockset"):$PATH
exits 0 "$lockset" acquire 'db/prod one' --read config --lease 10m
stamp=$out
exits 0 "$lockset" permits set licence --read 5

# What they ask. Nobody who completes a word sees a message, waits, or makes a database.
exits 0 "$lockset" help --known names
same "names" $'config\ndb/prod one\nlicence' "$out"
exits 0 "$lockset" help --known stamps
same "stamps" "$stamp"$'\tread config, write db/prod one' "$out"
for url in "sqlite:$work/none.db" postgresql://127.0.0.1:1/x nosuch:x; do
  exits 0 env LOCKSET_URL="$url" "$lockset" help --known names
  same "$url" '' "$out$err"
done
false_that "it makes no database" test -e none.db
exits 0 env LOCKSET_LEASE=3x "$lockset" help --known stamps
same "a bad setting" '' "$out$err"

for shell in bash zsh fish; do
  exits 0 "$lockset" help --$shell
  printf '%s\n' "$out" >"completion.$shell"
  same "$shell: standard error" '' "$err"
done

# completes SHELL WORD...: the last one, as the shell would; one line, sorted.
completes_bash() {
  bash -c '. ./completion.bash; COMP_WORDS=(lockset "$@"); COMP_CWORD=$#; _lockset; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
# The line editor is not there: what it would be told.
completes_zsh() {
  zsh -f -c '
    compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- ${(M)@:#$words[CURRENT]*} }
    _describe() { print -l -- ${${(P)3}%%:*} | grep -- "^$words[CURRENT]" }
    _normal() { print -l -- normal $words }
    . ./completion.zsh
    words=(lockset "$@") CURRENT=$(($# + 1))
    _lockset' zsh "$@"
}
completes_fish() {
  local line=lockset word
  for word in "$@"; do line+=" $word"; done
  fish --no-config -c '. ./completion.fish; complete -C $argv' "$line" | cut -f 1
}
completes() {
  local shell=$1
  shift
  "completes_$shell" "$@" 2>&1 | sort | paste -sd ' '
}

for shell in bash zsh fish; do
  command -v "$shell" >/dev/null || continue
  same "$shell: a command" run "$(completes $shell ru)"
  same "$shell: a group" permits "$(completes $shell perm)"
  same "$shell: its commands" list "$(completes $shell permits l)"
  same "$shell: an option" --no-wait "$(completes $shell run job --no)"
  same "$shell: an option of a group" --copy-permits "$(completes $shell migrate plan --copy)"
  same "$shell: behind help" status "$(completes $shell help stat)"
  same "$shell: a store" memory: "$(completes $shell status --url memo)"
  same "$shell: a word" 'ignore' "$(completes $shell run x --on-lost i)"
  same "$shell: a form of the log" 'json' "$(completes $shell status --log j)"
  same "$shell: a phase" 'dual-new dual-old' "$(completes $shell migrate advance --to d)"
  same "$shell: a name" 'config' "$(completes $shell run --read co)"
  same "$shell: a bare name" 'licence' "$(completes $shell permits get li)"
  same "$shell: a stamp" "$stamp" "$(completes $shell break "${stamp:0:3}")"
  same "$shell: a count is no name" '' "$(completes $shell permits set x --read l)"
done
same "bash: a name with a blank" 'db/prod\ one' "$(completes bash status d)"
same "bash: --url=memo" memory: "$(completes bash status --url = memo)"
same "bash: behind --" '' "$(completes bash run job -- ru)"
if command -v zsh >/dev/null; then
  true_that "zsh: the script" zsh -n completion.zsh
  same "zsh: a name with a blank" 'db/prod one' "$(completes zsh status d)"
  same "zsh: behind --" 'l normal' "$(completes zsh run job -- l)"
fi
if command -v fish >/dev/null; then
  true_that "fish: the script" fish --no-execute completion.fish
  contains "fish: behind --" " $(completes fish run job -- lockse) " ' lockset '
fi
finish
