// SEM 8, 10, 12, 20, 31: which holds are registered again during a quarantine, and which are not.
#include <future>

#include "tests/redis/fixture.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::redis_tests {
namespace {

class RedisRegistering : public RedisServerTest {
 protected:
  void kill_and_start() {
    server().kill();
    server().start();
    reconnect();
  }
  // Waits until the end of the hold's lease, as the store has it, has passed.
  void wait_for_end(Stamp stamp) {
    ASSERT_TRUE(eventually([&] {
      const test::RawReply time = admin().say({"TIME"});
      const std::string now = time.list.at(0).text + "000000";
      const std::string ends =
          admin().text({"ZSCORE", "{lockset}:leases", std::to_string(stamp.value)});
      return std::stod(now) > std::stod(ends);
    }));
  }
  // How often a script was run.
  [[nodiscard]] std::string runs() {
    const std::string all = admin().text({"INFO", "commandstats"});
    const std::size_t at = all.find("cmdstat_evalsha:");
    return at == std::string::npos ? "" : all.substr(at, all.find(',', at) - at);
  }
  // The first renewal connects to the server again.
  static bool renewed(Client& client, Stamp stamp) {
    return eventually([&] {
      const Result<std::optional<Renewal>> renewal = client.ask_to_renew(stamp, 30s);
      return renewal && *renewal;
    });
  }
};

// SEM 10: a snapshot contains an older end of the lease, which has passed by now
TEST_F(RedisRegistering, ARenewalThatWasLostIsMadeUpFor) {
  if (!start_own({"appendonly no"})) return;
  Client holder = client("app");
  const Grant grant = holder.take({write("a"), read("b")}, {.lease = 3s});
  admin().say({"SAVE"});
  ASSERT_TRUE(holder.renew(grant.stamp, 1min));
  kill_and_start();
  wait_for_end(grant.stamp);
  // A client that knows only the stamp can't claim it: for the store the hold has ended.
  Client stranger = client("app");
  EXPECT_FALSE(stranger.renew(grant.stamp, 30s));
  EXPECT_TRUE(renewed(holder, grant.stamp));
  EXPECT_TRUE(holder.is_live(grant.stamp));
  EXPECT_TRUE(stranger.renew(grant.stamp, 30s)) << "now it is there";
  EXPECT_TRUE(holder.release(grant.stamp));
  EXPECT_EQ(keys_of_holds(), 1U) << "that it has ended, until the quarantine is over";
}

// SEM 10: a hold whose lease has ended is not brought back
TEST_F(RedisRegistering, AnEndedHoldIsNot) {
  if (!start_own({"appendonly no"})) return;
  Client holder = client("app");
  const Grant grant = holder.take({write("a")}, {.lease = 100ms});
  admin().say({"SAVE"});
  kill_and_start();
  wait_for_end(grant.stamp);
  EXPECT_TRUE(eventually([&] { return holder.backend().load_config(soon()).ok(); }));
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  admin().say({"FLUSHALL"});
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  EXPECT_FALSE(holder.is_live(grant.stamp));
}

// SEM 12: a hold that a newer instance has ended stays ended
TEST_F(RedisRegistering, AReclaimedHoldIsNot) {
  if (!start()) return;
  const auto epoch = [&] {
    Client opener = client("x");
    const Grant probe = opener.take({write("@app:x")});
    EXPECT_TRUE(opener.backend().reclaim("x", probe.stamp.value, soon()));
    EXPECT_TRUE(opener.release(probe.stamp));
    return probe.stamp.value;
  };
  Client older(open_backend(url(), soon()).value(), "x", epoch());
  const Grant grant = older.take({write("a")});
  Client newer(open_backend(url(), soon()).value(), "x", epoch());
  newer.reload();
  EXPECT_FALSE(newer.is_live(grant.stamp));
  admin().say({"FLUSHALL"});
  newer.reload();  // restores the configuration
  EXPECT_FALSE(older.renew(grant.stamp, 1min));
  EXPECT_FALSE(newer.is_live(grant.stamp));
}

// SEM 20: the answer "quarantine" arrives after the quarantine, so the store has to check
TEST_F(RedisRegistering, AfterTheQuarantineNothingIs) {
  if (!start()) return;
  test::TcpProxy proxy(server().port());
  const std::string direct = std::to_string(server().port());
  std::string detour = url();
  detour.replace(detour.find(direct), direct.size(), std::to_string(proxy.port()));
  Client holder(open_backend(detour, soon()).value(), "holder");
  Client other = client("other");
  other.change(SetMaxLease{5s});
  holder.reload();
  const Grant grant = holder.take({write("a")}, {.lease = 1min});
  admin().say({"FLUSHALL"});
  other.reload();
  proxy.black_hole(test::TcpProxy::Way::to_client);
  const std::string before = runs();
  std::future<std::optional<Renewal>> renewal =
      std::async(std::launch::async, [&] { return holder.renew(grant.stamp, 1min); });
  EXPECT_TRUE(eventually([&] { return runs() != before; }));
  ASSERT_TRUE(other.inspect().quarantine) << "too slow a machine to show it";
  EXPECT_TRUE(eventually([&] { return !other.inspect().quarantine; }, 3 * test::patience));
  proxy.heal();
  EXPECT_FALSE(renewal.get());
  EXPECT_FALSE(other.is_live(grant.stamp));
}

}  // namespace
}  // namespace lockset::redis_tests
