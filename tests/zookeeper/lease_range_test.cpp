// SEM 10, 11: a lease is a session's timeout, which the server limits.
#include <fstream>

#include "tests/support/requirement.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/four_letters.h"

namespace lockset::zookeeper_tests {
namespace {

// A separate server with these limits.
class LeaseRange : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("zookeeper")) return;
    server_ = std::make_unique<test::PrivateServer>("zookeeper", bounds("3000", "9000"));
    init_space(url(), soon()).value();
    view_ = std::make_unique<SpaceView>("127.0.0.1:" + std::to_string(server_->port()), "/lockset");
  }
  static std::vector<std::string> bounds(const std::string& least, const std::string& most) {
    return {"minSessionTimeout=" + least, "maxSessionTimeout=" + most};
  }
  void restart_with(const std::string& least, const std::string& most) {
    std::ofstream file(server_->folder() / "extra.conf");
    for (const std::string& line : bounds(least, most)) file << line << '\n';
    file.close();
    server_->restart();
  }
  [[nodiscard]] std::string url(const std::string& more = {}) const {
    return server_->admin_url() + "?space=lockset" + more;
  }
  [[nodiscard]] Client open(const std::string& more = {}) const {
    return Client(open_backend(url(more), soon()).value());
  }
  static std::string refused(Client& client, Duration lease) {
    const auto outcome = client.ask({write("a")}, {.lease = lease});
    EXPECT_FALSE(outcome) << test::describe(outcome);
    if (outcome) return {};
    EXPECT_EQ(outcome.error().code, Errc::unsupported) << outcome.error().message;
    EXPECT_FALSE(says(outcome.error().message, "\n")) << outcome.error().message;
    return outcome.error().message;
  }
  static Result<Duration> leased(Client& client, Duration lease) {
    const auto outcome = client.ask({write("a")}, {.lease = lease});
    if (!outcome) return outcome.error();
    const Grant grant = std::get<Grant>(*outcome);
    client.release(grant.stamp);
    return grant.lease;
  }

  std::unique_ptr<test::PrivateServer> server_;
  std::unique_ptr<SpaceView> view_;
};

TEST_F(LeaseRange, OutsideIsUnsupportedAndTheLineNamesTheBound) {
  Client mine = open();
  for (int i = 0; i < 2; ++i) {  // the first one asks, the second one knows
    const std::string brief = refused(mine, 1s);
    EXPECT_TRUE(says(brief, "3s")) << brief;
    EXPECT_TRUE(says(brief, "2s")) << "the least that would do: " << brief;
    EXPECT_TRUE(says(brief, "minSessionTimeout")) << brief;
    const std::string lengthy = refused(mine, 30s);
    EXPECT_TRUE(says(lengthy, "9s")) << lengthy;
    EXPECT_TRUE(says(lengthy, "maxSessionTimeout")) << lengthy;
  }
  EXPECT_TRUE(view_->traces().empty());
}

// A session supports leases of two thirds of its timeout (ADR 0024).
TEST_F(LeaseRange, TheGrantTellsTheEffectiveLease) {
  Client mine = open();
  EXPECT_EQ(leased(mine, 2s).value(), 2s);
  EXPECT_EQ(leased(mine, 4s).value(), 4s);
  EXPECT_EQ(leased(mine, 6s).value(), 6s);
  EXPECT_EQ(leased(mine, 8s).value(), 6s);
  const Stamp stamp = mine.take({write("a")}, {.lease = 8s}).stamp;
  const std::optional<Renewal> renewal = mine.renew(stamp, 8s);
  ASSERT_TRUE(renewal);
  EXPECT_LE(renewal->lease, 6s);
  EXPECT_GT(renewal->lease, 5s);
}

TEST_F(LeaseRange, ShortLeasesAreGrantedWhereTheyAreAskedFor) {
  Client mine = open("&short_leases=on");
  EXPECT_EQ(leased(mine, 1s).value(), 1s);
  // They end on time while their client lives, although the session continues.
  mine.take({write("a")}, {.lease = 1s});
  EXPECT_TRUE(view_->becomes_empty());
}

// SEM 11, 15
TEST_F(LeaseRange, ThereIsNoHoldWithoutALease) {
  Client mine = open();
  const Stamp stamp = mine.take({write("a")}, {.lease = 5s}).stamp;
  const RenewRequest request{stamp, 5s, true};
  const auto reply = mine.backend().renew(mine.owner(), {&request, 1}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unsupported);
  EXPECT_TRUE(says(reply.error().message, "session")) << reply.error().message;
  EXPECT_TRUE(mine.release(stamp));
  Locks locks = lockset::open(url(), {.app = "app", .lease = 5s}).value();
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 5s, .lease = no_lease});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::unsupported) << hold.error().message;
  EXPECT_TRUE(says(hold.error().message, "lease")) << hold.error().message;
  EXPECT_TRUE(view_->traces().empty());
  EXPECT_FALSE(locks.traits().holds_outlive_process);
  EXPECT_FALSE(locks.traits().permanent_leases);
}

// The limits belong to the server, and may change.
TEST_F(LeaseRange, ARefusalIsNotForEver) {
  Client mine = open();
  refused(mine, 30s);
  refused(mine, 1s);
  restart_with("300", "60000");
  EXPECT_TRUE(eventually([&] { return leased(mine, 30s).ok(); }, long_time));
  EXPECT_EQ(leased(mine, 30s).value(), 30s);
  EXPECT_TRUE(eventually([&] { return leased(mine, 1s).ok(); }, long_time));
}

// SEM 10, 20: a session that continues under smaller limits may end before the promises made in it
// do, and only a loss takes back a promise
TEST_F(LeaseRange, AShortenedSessionLosesWhatItCanNotKeep) {
  restart_with("300", "60000");
  Client mine = open();
  const Token token = Token::random();
  const Grant grant = mine.take({write("a")}, {.lease = 40s, .token = token});
  EXPECT_EQ(grant.lease, 40s);
  const Grant brief = mine.take({write("b")}, {.lease = 1500ms});
  restart_with("2000", "3000");
  const auto renewed = [&](Stamp stamp, Duration lease) {
    std::optional<Renewal> renewal;
    EXPECT_TRUE(eventually([&] {
      const RenewRequest request{stamp, lease};
      const auto reply = mine.backend().renew(mine.owner(), {&request, 1}, soon());
      if (reply) renewal = reply->renewals.at(0);
      return reply.ok();
    }));
    return renewal;
  };
  EXPECT_FALSE(renewed(grant.stamp, 40s));
  if (const std::optional<Grant> found = mine.resolve(token)) {
    EXPECT_LE(found->lease, 2s);
  }
  // A hold that fits continues, unless the restart took longer than its lease.
  if (const std::optional<Renewal> renewal = renewed(brief.stamp, 1500ms)) {
    EXPECT_LE(renewal->lease, 1500ms);
  }
}

}  // namespace
}  // namespace lockset::zookeeper_tests
