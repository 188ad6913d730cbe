// SEM 20: the network separates a primary from its replica. The replica is promoted while the old
// primary continues with the clients that it reaches. Only a setting of the server decides what
// holds.
#include "tests/redis/fixture.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::redis_tests {
namespace {

constexpr Duration lease = 6s;

class RedisPartition : public RedisServerTest {
 protected:
  // Starts a primary, and a replica that reaches it through a network of the test.
  bool start_pair() {
    // Copied at once, not after five seconds.
    if (!start_own({"repl-diskless-sync-delay 0"})) return false;
    way_ = std::make_unique<test::TcpProxy>(server().port());
    replica_ = std::make_unique<PrivateServer>(
        "redis", std::vector<std::string>{"replicaof 127.0.0.1 " + std::to_string(way_->port()),
                                          "masterauth " + password(), "requirepass " + password()});
    client().change(SetMaxLease{lease});
    return eventually([&] { return admin().info("connected_slaves") == "1"; }, 30s) &&
           eventually([&] { return replica_has_the_lease(); }, 30s);
  }
  void part() { way_->black_hole(test::TcpProxy::Way::both); }
  void promote() { replica().say({"REPLICAOF", "NO", "ONE"}); }
  [[nodiscard]] std::string replica_url() const {
    return "redis://:" + password() + "@127.0.0.1:" + std::to_string(replica_->port()) + "/0";
  }
  RawRedis replica() { return RawRedis(replica_url()); }
  // The link is up as soon as the copy has been loaded. Changes made during the copy come after
  // that, and without them the replica uses the leases of a new space.
  bool replica_has_the_lease() {
    if (replica().info("master_link_status") != "up") return false;
    return replica().text({"HGET", "{lockset}", "max_lease"}) == std::to_string(lease / 1us);
  }
  static Locks locks(const std::string& url, const std::string& app) {
    return lockset::open(url, {.app = app, .lease = lease, .io_timeout = 1s}).value();
  }

 private:
  std::unique_ptr<test::TcpProxy> way_;
  std::unique_ptr<PrivateServer> replica_;
};

// As the page on Redis recommends: the old primary reaches no replica, and stops.
TEST_F(RedisPartition, APartedPrimaryThatNeedsItsReplicaStops) {
  if (!start_pair()) return;
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  admin().say({"CONFIG", "SET", "min-replicas-max-lag", "1"});
  Locks mine = locks(url(), "mine");
  const Hold hold = mine.acquire({write("a")}, {.wait = 20s}).value();
  part();
  Client late = client("late");
  int asked = 0;
  const auto ask = [&] { return late.ask({write("other" + std::to_string(++asked))}); };
  EXPECT_TRUE(eventually([&] { return !ask().ok(); }));
  const std::string refused = failed(ask(), Errc::unavailable);
  EXPECT_TRUE(says(refused, "replica")) << refused;
  promote();
  Locks other = locks(replica_url(), "other");
  const Hold next = other.acquire({write("a")}, {.wait = 30s}).value();
  EXPECT_FALSE(hold.valid());
  EXPECT_GT(BootClock::now(), hold.valid_until());
  EXPECT_GT(next.stamp(), hold.stamp());
  EXPECT_TRUE(next.valid());
}

// Without it both grant the same name: asynchronous copies can't promise more. The stamps show a
// resource which holder is the later one.
TEST_F(RedisPartition, WithoutThatTwoPrimariesGrantTheSame) {
  if (!start_pair()) return;
  Locks mine = locks(url(), "mine");
  const Hold hold = mine.acquire({write("a")}, {.wait = 20s}).value();
  part();
  promote();
  Locks other = locks(replica_url(), "other");
  const Hold next = other.acquire({write("a")}, {.wait = 30s}).value();
  EXPECT_TRUE(hold.valid() && next.valid()) << "then the page on Redis warns for nothing";
  EXPECT_GT(next.stamp(), hold.stamp());
}

}  // namespace
}  // namespace lockset::redis_tests
