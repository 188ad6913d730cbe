# The shell of docs/backends/zookeeper.md, run as it stands there.
#
#   zookeeper.sh PATH-OF-LOCKSET FOLDER-OF-BLOCKS
# shellcheck source=tests/cli/lib.sh
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/cli/lib.sh"
# shellcheck source=tests/cli/private_server.sh
. "$tests/cli/private_server.sh"
# shellcheck source=tests/pages/blocks.sh
. "$tests/pages/blocks.sh"
need_server zookeeper
run_server zookeeper
here=127.0.0.1:$(cat "$server_dir/port")

run_block backends/zookeeper/zookeeper.sh "s/zk1,zk2,zk3/$here/; s/(PASSWORD=)\.\.\./\1secret/"
contains 'doctor as the page has it' "$out" 'programs may rely on the store'
export LOCKSET_URL="zookeeper://app@$here/prod?space=jobs" ZOOKEEPER_PASSWORD=secret
# Two more users, who have the passwords that are typed in.
printf '%s\n' program-secret operator-secret >typed
run_block backends/zookeeper/rights.sh <typed
exits 0 env ZOOKEEPER_PASSWORD=program-secret lockset run other -- true
ops=zookeeper://ops@$here/prod?space=jobs
exits 0 env LOCKSET_URL="$ops" ZOOKEEPER_PASSWORD=operator-secret lockset permits set other --read 2

# A name that was observed and written, is held, and is waited for.
exits 0 lockset observe nightly
exits 0 lockset run nightly -- true
hold nightly
start lockset run nightly -- true
waiter=$pid
soon waiting nightly

# The session that the page types, with what it found in it before.
block=$pages/backends/zookeeper/looking-into-it.text
# zkCli.sh is in a package of its own, and calls this.
java='java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/commons-cli.jar'
java+=' org.apache.zookeeper.ZooKeeperMain'
sed -n "1{s#[^ ]*/zkCli.sh#$java#;s/zk1:2181/$here/;p}" "$block" >zk.sh
shell() { bash zk.sh 2>&1; }
nodes=$(printf '%s\n' 'addauth digest app:secret' 'ls -R /prod/jobs' | shell)
generation=$(printf '%s\n' "$nodes" | sed -n 's|^/prod/jobs/\([^/]*\)/holds$|\1|p')
token=$(printf '%s\n' "$nodes" | sed -n 's|^/prod/jobs/.*/holds/\([^/]*\)$|\1|p')
sed "1d; s/  .*//; s/GEN/$generation/; s/TOKEN/$token/; s/NAME/nightly/" "$block" >typed
shell <typed >session
true_that 'the commands were tried' grep -q cZxid session
lacks 'a node of the page is not there' "$(cat session)" 'does not exist'
release_it
pid=$waiter
ends 0
finish
