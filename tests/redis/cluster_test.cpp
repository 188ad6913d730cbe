// SEM 8, 20, 31: a cluster. The nodes say which of them serves the space, and its replica takes its
// place.
#include <array>

#include "tests/redis/fixture.h"
#include "tests/support/requirement.h"

namespace lockset::redis_tests {
namespace {

// The quarantine: as long as a test's steps during it may take on a busy machine.
constexpr Duration quarantined = 5s;

// Three primaries, and a replica of the one that serves the space.
class RedisCluster : public testing::Test {
 protected:
  static constexpr std::size_t size = 4;

  void SetUp() override {
    if (!test::have_server("redis")) return;
    for (auto& node : nodes_) {
      node = std::make_unique<PrivateServer>(
          "redis",
          std::vector<std::string>{"cluster-enabled yes", "cluster-node-timeout 1000",
                                   "cluster-allow-replica-migration no", "requirepass " + password_,
                                   "masterauth " + password_, "repl-diskless-sync-delay 0"});
    }
    const std::array<int, 4> borders{0, 5461, 10923, 16384};
    const std::int64_t slot = admin(0).number({"CLUSTER", "KEYSLOT", "{lockset}"});
    for (std::size_t i = 0; i < 3; ++i) {
      if (slot >= borders[i]) owner_ = i;
      admin(i).say({"CLUSTER", "ADDSLOTSRANGE", std::to_string(borders[i]),
                    std::to_string(borders[i + 1] - 1)});
    }
    for (std::size_t i = 1; i < size; ++i) {
      admin(i).say({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0]->port())});
    }
    ASSERT_TRUE(eventually([&] { return all_say("cluster_known_nodes:4"); }));
    const std::string id = admin(owner_).text({"CLUSTER", "MYID"});
    ASSERT_TRUE(eventually([&] { return !admin(3).ask({"CLUSTER", "REPLICATE", id}).is_error; }));
    ASSERT_TRUE(eventually([&] {
      return all_say("cluster_state:ok") && admin(3).info("master_link_status") == "up";
    }));
    init_space(url(), soon()).value();
    client("boss").change(SetMaxLease{quarantined});
  }

  RawRedis admin(std::size_t i) const {
    return RawRedis("redis://:" + password_ + "@127.0.0.1:" + std::to_string(nodes_[i]->port()) +
                    "/0");
  }
  [[nodiscard]] bool all_say(const std::string& what) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (!says(admin(i).text({"CLUSTER", "INFO"}), what)) return false;
    }
    return true;
  }
  [[nodiscard]] std::string url() const {
    std::string hosts;
    for (const auto& node : nodes_) {
      hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(node->port());
    }
    return "redis+cluster://:" + password_ + "@" + hosts;
  }
  [[nodiscard]] Client client(const std::string& app) const {
    return Client(open_backend(url(), soon()).value(), app);
  }

  const std::string password_ = Token::random().hex();
  std::array<std::unique_ptr<PrivateServer>, size> nodes_;
  std::size_t owner_ = 0;
};

TEST_F(RedisCluster, TheReplicaTakesThePlaceOfItsPrimary) {
  Client holder = client("holder");
  Client other = client("other");
  const Stamp before = holder.take({write("a"), read("b")}, {.lease = 30s}).stamp;
  const std::string at = "127.0.0.1:" + std::to_string(nodes_[owner_]->port());
  EXPECT_TRUE(says(holder.inspect().server, at + ", by the cluster's nodes 127.0.0.1:"));
  EXPECT_TRUE(says(finding(url(), "nodes"), "good: all 4 name it"));
  EXPECT_TRUE(says(finding(url(), "primary"), "good: " + at + ", by the nodes"));
  nodes_[owner_]->kill();
  ASSERT_TRUE(eventually([&] { return other.backend().load_config(soon()).ok(); }));
  const std::string refused = failed(other.ask({write("x")}), Errc::unavailable);
  EXPECT_TRUE(says(refused, "no new grants")) << refused;
  bool there = false;
  EXPECT_TRUE(eventually([&] {
    const auto reply = holder.ask_to_renew(before, 30s);
    if (reply) there = reply->has_value();
    return reply.ok();
  }));
  EXPECT_TRUE(there);
  EXPECT_TRUE(eventually([&] { return !other.inspect().quarantine; }, 3 * test::patience));
  EXPECT_EQ(other.meet_busy({write("a")}).holder, before);
  EXPECT_GT(other.take({write("x")}).stamp, before);
  EXPECT_TRUE(holder.release(before));
  // It comes back as a replica.
  nodes_[owner_]->start();
  EXPECT_GT(other.take({write("a")}).stamp, before);
}

TEST_F(RedisCluster, AnotherNodeSaysWhatToWrite) {
  const std::size_t wrong = owner_ == 0 ? 1 : 0;
  const auto opened = open_backend(
      "redis://:" + password_ + "@127.0.0.1:" + std::to_string(nodes_[wrong]->port()) + "/",
      soon());
  ASSERT_FALSE(opened);
  const std::string error = checked(opened.error(), Errc::misconfigured);
  EXPECT_TRUE(says(error, "write redis+cluster:// with all nodes (MOVED")) << error;
}

}  // namespace
}  // namespace lockset::redis_tests
