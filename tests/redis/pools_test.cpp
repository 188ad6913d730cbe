// SEM 16: separate connections, and enough of them from the start.
#include "tests/redis/fixture.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::redis_tests {
namespace {

class RedisPools : public RedisServerTest {
 protected:
  // Other clients have taken all free connections.
  void use_up_connections() {
    admin().say({"CONFIG", "SET", "maxclients", admin().info("connected_clients")});
    EXPECT_TRUE(says(refused(url(), Errc::unavailable), "maxclients"));
  }
};

// Acquires, and renewals, which have separate connections
TEST_F(RedisPools, AnOpenClientGoesOnWhereNoFurtherConnectionIsToBeHad) {
  if (!start_own()) return;
  Client one = client();
  use_up_connections();
  const Grant grant = one.take({write("a"), read("b")});
  EXPECT_TRUE(one.renew(grant.stamp, 1min));
  EXPECT_TRUE(one.is_live(grant.stamp));
  EXPECT_TRUE(one.release(grant.stamp));
}

// SEM 10: on a slow network every round trip reduces the lease that is to be renewed
TEST_F(RedisPools, ANewConnectionCostsOneRoundTrip) {
  if (!start()) return;
  test::TcpProxy proxy(server().port());
  std::string detour = url();
  const std::string direct = std::to_string(server().port());
  detour.replace(detour.find(direct), direct.size(), std::to_string(proxy.port()));
  Client one(open_backend(detour, soon()).value(), "one");
  const Stamp stamp = one.take({write("a")}).stamp;
  proxy.cut_all();
  proxy.reset_counts();
  proxy.far(20ms);
  EXPECT_TRUE(eventually([&] {
    const RenewRequest request{one.known(stamp), 2min};
    return one.backend().renew(one.owner(), {&request, 1}, soon()).ok();
  }));
  // One to log in, one for the renewal.
  EXPECT_EQ(proxy.round_trips_by_connection().back(), 2U);
}

// Others may be waiting for a connection that it gives up
TEST_F(RedisPools, ARefusalCostsNoConnection) {
  if (!start_own()) return;
  Client one = client();
  const std::string before = admin().info("total_connections_received");
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  const Result<AcquireOutcome> refusal = one.ask({write("a")});
  ASSERT_FALSE(refusal);
  EXPECT_TRUE(says(checked(refusal.error(), Errc::unavailable), "maxmemory"));
  admin().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(one.release(one.take({write("a")}).stamp));
  EXPECT_EQ(admin().info("total_connections_received"), before);
}

// SEM 10: keeping a hold takes no memory. The first change in a script decides, and for a reader's
// renewal that is the lease itself
TEST_F(RedisPools, AServerWithoutMemoryRenewsAndReleases) {
  if (!start_own()) return;
  Client one = client();
  const Grant reader = one.take({read("a")});
  const Grant writer = one.take({write("b")});
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_FALSE(one.ask({write("c")}));
  EXPECT_TRUE(one.renew(reader.stamp, 2min));
  EXPECT_TRUE(one.renew(writer.stamp, 2min));
  EXPECT_TRUE(one.release(reader.stamp));
  EXPECT_TRUE(one.release(writer.stamp));
  EXPECT_EQ(keys_of_holds(), 0U);
}

}  // namespace
}  // namespace lockset::redis_tests
