// A setting that would break a promise is refused at opening, in one line that says what to do.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisRefusals : public RedisServerTest {
 protected:
  void set(const std::string& setting, const std::string& value) {
    admin().say({"CONFIG", "SET", setting, value});
  }
};

// SEM 20: with these the server evicts keys when its memory is used up
TEST_F(RedisRefusals, EveryPolicyThatEvicts) {
  if (!start()) return;
  for (const char* const policy : {"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru",
                                   "volatile-lfu", "volatile-random", "volatile-ttl"}) {
    set("maxmemory-policy", policy);
    set("maxmemory", "100mb");
    const std::string message = refused(url(), Errc::misconfigured);
    EXPECT_TRUE(says(message, policy)) << message;
    EXPECT_TRUE(says(message, "noeviction")) << message;
    EXPECT_TRUE(says(failed(init_space(url(), soon()), Errc::misconfigured), policy));
    EXPECT_TRUE(says(finding(url(), "maxmemory_policy"), "unsafe: ")) << policy;
    // Without a limit nothing is evicted. But somebody may set one.
    set("maxmemory", "0");
    EXPECT_TRUE(open_backend(url(), soon())) << policy;
    EXPECT_TRUE(says(finding(url(), "maxmemory_policy"), "warning: ")) << policy;
  }
  set("maxmemory-policy", "noeviction");
  set("maxmemory", "100mb");
  EXPECT_TRUE(open_backend(url(), soon()));
  EXPECT_TRUE(says(finding(url(), "maxmemory_policy"), "good: "));
}

TEST_F(RedisRefusals, AReplica) {
  if (!start()) return;
  Client running = client();
  const Stamp stamp = running.take({write("kept")}).stamp;
  const std::vector<std::string> seen{"a"};
  running.observe(seen);
  // A replica of nobody; it is still read-only.
  admin().say({"REPLICAOF", "127.0.0.1", "1"});
  const std::string message = refused(url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "127.0.0.1:1")) << message;
  EXPECT_TRUE(says(message, "primary")) << message;
  EXPECT_TRUE(says(finding(url(), "role"), "unsafe: "));
  // A connection from before. What the server knows may be old: SEM 27.
  const ObserveRequest observe{seen, running.config().version, soon()};
  EXPECT_TRUE(says(failed(running.backend().observe(observe), Errc::unavailable), "primary"));
  // A client from before: the server may be promoted again, or another one replace it.
  EXPECT_TRUE(
      says(failed(running.ask_once({write("a"), write("b")}), Errc::unavailable), "primary"));
  EXPECT_TRUE(
      says(failed(running.backend().release(stamp, "app", soon()), Errc::unavailable), "primary"));
  admin().say({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(test::look_into(admin(), "lockset").size(), 1U);
  EXPECT_TRUE(running.release(stamp));
}

TEST_F(RedisRefusals, ANewerSpace) {
  if (!start()) return;
  Client running = client();
  admin().say({"HSET", "{lockset}", "schema", "99"});
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "newer program"));
  failed(init_space(url(), soon()), Errc::misconfigured);
  EXPECT_TRUE(says(finding(url(), "space"), "unsafe: version 99"));
  EXPECT_TRUE(says(failed(running.ask_once({write("a")}), Errc::misconfigured), "99"));
  EXPECT_EQ(keys_of_holds(), 0U);
}

// There is no older version yet that init could upgrade.
TEST_F(RedisRefusals, AnOlderSpace) {
  if (!start()) return;
  admin().say({"HSET", "{lockset}", "schema", "0"});
  EXPECT_FALSE(says(refused(url(), Errc::misconfigured), "lockset init"));
  EXPECT_TRUE(says(failed(init_space(url(), soon()), Errc::misconfigured), "another space"));
}

TEST_F(RedisRefusals, KeysOfAnotherProgram) {
  if (!start()) return;
  const std::string other = url("space=other");
  admin().say({"SET", "{other}", "mine"});
  EXPECT_TRUE(says(refused(other, Errc::misconfigured), "another space"));
  EXPECT_TRUE(says(failed(init_space(other, soon()), Errc::misconfigured), "another space"));
  EXPECT_EQ(admin().text({"GET", "{other}"}), "mine");
}

TEST_F(RedisRefusals, ASpaceThatIsNotThere) {
  if (!start()) return;
  EXPECT_TRUE(says(refused(url("space=nowhere"), Errc::misconfigured), "lockset init"));
  EXPECT_TRUE(says(finding(url("space=nowhere"), "space"), "lockset init"));
  bool no_space = false;
  for (const Finding& one : examine_space(url("space=nowhere"), soon()).value()) {
    no_space = no_space || one.no_space;
  }
  EXPECT_TRUE(no_space);
}

// All keys of a space are in one slot, and all are declared: a node checks both.
TEST_F(RedisRefusals, AClusterThatIsDownAndANodeThatServesTheSpace) {
  if (!start_without_space({"cluster-enabled yes"})) return;
  failed(init_space(url(), soon()), Errc::unavailable);
  refused(url(), Errc::unavailable);
  const Address second{.password = password(), .database = "1"};
  EXPECT_TRUE(says(refused(at(second), Errc::misconfigured), "database"));
  admin().say({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  EXPECT_TRUE(eventually([&] { return init_space(url(), soon()).ok(); }));
  Client mine = client();
  const Stamp stamp = mine.take({write("a"), read("b"), write("c")}).stamp;
  EXPECT_TRUE(mine.renew(stamp, 1min));
  EXPECT_TRUE(mine.meet_busy({write("b")}, {.will_wait = true}).ticket);
  EXPECT_TRUE(mine.release(stamp));
  EXPECT_TRUE(says(finding(url(), "cluster_enabled"), "warning: "));
}

TEST_F(RedisRefusals, AddressesThatCantBeMeant) {
  if (!start()) return;
  const std::string server =
      "redis://:open-sesame@127.0.0.1:" + std::to_string(this->server().port());
  const std::pair<std::string, std::string> odd[] = {
      {"redis://:open-sesame@a:6379,b:6379/0", "one server"},
      {"redis://:open-sesame@127.0.0.1:port/0", "port"},
      {"redis://:open-sesame@127.0.0.1:0/0", "port"},
      {server + "/0?space=Jobs", "space"},
      {server + "/0?sapce=jobs", "sapce"},
      {server + "/0?pool=0", "pool"},
      {server + "/0?connect_timeout=soon", "connect_timeout"},
      {server + "/0?ssl_ca=ca.pem", "rediss"},
  };
  for (const auto& [address, words] : odd) {
    const std::string message = refused(address, Errc::invalid);
    EXPECT_TRUE(says(message, words)) << address << ": " << message;
  }
}

}  // namespace
}  // namespace lockset::redis_tests
