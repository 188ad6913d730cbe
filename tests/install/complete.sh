# The completion of the installed command, by the tabulator of an interactive bash in a terminal:
# bash-completion loads it.
set -euo pipefail
export TERM=xterm LC_ALL=C.UTF-8
cat >/tmp/bashrc <<'END'
PS1='ready> '
. /usr/share/bash-completion/bash_completion
END
tmux -f /dev/null new-session -d -s t -x 100 -y 30 'bash --noprofile --rcfile /tmp/bashrc -i'
# shows TEXT: waits until the terminal does
shows() {
  local until=$((SECONDS + 30))
  until tmux capture-pane -p -t t | grep -qF -- "$1"; do
    [ "$SECONDS" -lt "$until" ] || { tmux capture-pane -p -t t; echo "not shown: $1" >&2; exit 1; }
    sleep 0.1
  done
}
# completes TYPED EXPECTED: in an empty line
completes() {
  tmux send-keys -t t C-u -l "$1"
  shows "ready> $1"
  tmux send-keys -t t Tab
  shows "ready> $2"
}
shows 'ready>'
lockset permits set report --read 7 2>/dev/null
completes 'lockset sta' 'lockset status'
tmux send-keys -t t C-u
completes 'lockset run --wr' 'lockset run --write'
tmux send-keys -t t C-u
completes 'lockset run rep' 'lockset run report'
tmux capture-pane -p -t t | grep .
tmux kill-server
