// What `lockset doctor` reports about a server that works, but promises less than it could.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisDoctor : public RedisServerTest {};

TEST_F(RedisDoctor, HasNothingAgainstTheServerOfTheTests) {
  if (!start()) return;
  for (const Finding& one : examine_space(url(), soon()).value()) {
    // The tests' server is on this host, and not encrypted.
    const bool plain = one.subject == "encryption";
    EXPECT_EQ(one.level, plain ? Finding::Level::warning : Finding::Level::good)
        << one.subject << ": " << one.text;
  }
}

TEST_F(RedisDoctor, WarnsOfWhatARestartLoses) {
  if (!start_own()) return;
  for (const char* const sync : {"everysec", "no"}) {
    admin().say({"CONFIG", "SET", "appendfsync", sync});
    const std::string found = finding(url(), "appendfsync");
    EXPECT_TRUE(says(found, "warning: ")) << found;
    EXPECT_TRUE(says(found, "appendfsync always")) << found;
  }
  admin().say({"CONFIG", "SET", "appendonly", "no"});
  admin().say({"CONFIG", "SET", "save", "900 1"});
  const std::string found = finding(url(), "appendonly");
  EXPECT_TRUE(says(found, "warning: no")) << found;
  EXPECT_TRUE(says(found, "900 1")) << found;
  EXPECT_TRUE(open_backend(url(), soon()));
}

TEST_F(RedisDoctor, WarnsOfReplicasThatNobodyWaitsFor) {
  if (!start_own()) return;
  const PrivateServer replica("redis", {"replicaof 127.0.0.1 " + std::to_string(server().port()),
                                        "masterauth " + password()});
  ASSERT_TRUE(eventually([&] { return admin().info("connected_slaves") == "1"; }, 30s));
  const std::string found = finding(url(), "min-replicas-to-write");
  EXPECT_TRUE(says(found, "warning: 0, with 1 replica")) << found;
  EXPECT_TRUE(says(found, "min-replicas-max-lag")) << found;
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_EQ(finding(url(), "min-replicas-to-write"), "");
}

TEST_F(RedisDoctor, WarnsOfTooFewConnections) {
  if (!start_own({"maxclients 15"})) return;
  EXPECT_TRUE(says(finding(url(), "maxclients"), "of 15 in use, and a client may open 19"));
  EXPECT_TRUE(says(finding(url("pool=2"), "maxclients"), "good: "));
}

TEST_F(RedisDoctor, WarnsOfTheQuarantineThatIsAndTheOneToCome) {
  if (!start()) return;
  EXPECT_EQ(finding(url(), "quarantine"), "");
  server().restart();
  reconnect();
  EXPECT_TRUE(says(finding(url(), "quarantine"), "next call begins"));
  Client mine = client();
  EXPECT_TRUE(says(finding(url(), "quarantine"), "no new grants for another "));
  EXPECT_TRUE(says(failed(mine.ask({write("a")}), Errc::unavailable), "no new grants"));
}

TEST_F(RedisDoctor, WarnsOfKeysThatWereThrownAway) {
  if (!start()) return;
  admin().say({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
  for (int i = 0; i < 20; ++i) admin().say({"SET", "cache" + std::to_string(i), "x"});
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  ASSERT_TRUE(eventually([&] {
    admin().ask({"SET", "one-more", "x"});
    return admin().info("evicted_keys") != "0";
  }));
  admin().say({"CONFIG", "SET", "maxmemory", "0"});
  admin().say({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(says(finding(url(), "evicted_keys"), "warning: "));
}

}  // namespace
}  // namespace lockset::redis_tests
