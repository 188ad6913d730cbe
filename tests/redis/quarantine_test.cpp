// SEM 8, 10, 20, 31 if Redis loses its state, and other features of this store only.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lockset/lockset.h"
#include "tests/redis/fixture.h"
#include "tests/redis/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::redis_tests {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::soon;

// A server that keeps nothing across a restart, with one space.
class RedisTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("redis")) return;
    server_ =
        std::make_unique<test::PrivateServer>("redis", std::vector<std::string>{"appendonly no"});
    init_space(url(), soon()).value();
    admin_ = std::make_unique<test::RawRedis>(url());
  }

  [[nodiscard]] std::string url() const { return server_->admin_url(); }
  [[nodiscard]] Client open(const std::string& app) const {
    return Client(open_backend(url(), soon()).value(), app);
  }
  // A client whose space has a short quarantine: as long as a test's steps during it may take on a
  // busy machine.
  [[nodiscard]] Client open_brief(const std::string& app) const {
    Client client = open(app);
    client.change(SetMaxLease{5s});
    return client;
  }
  static void expect_refused(Client& client, const test::Wanted& wanted) {
    const Result<AcquireOutcome> outcome = client.ask(wanted);
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }

  std::unique_ptr<test::PrivateServer> server_;
  std::unique_ptr<test::RawRedis> admin_;
};

// SEM 20: no double grant after FLUSHALL: nobody gets anything for the longest lease
TEST_F(RedisTest, AfterFlushallALivingHolderStaysTheOnlyOne) {
  Client holder = open_brief("holder");
  Client other = open("other");
  const Grant grant = holder.take({write("a"), read("b")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  expect_refused(other, {write("a")});
  ASSERT_TRUE(holder.renew(grant.stamp, 30s)) << "it registers again";
  EXPECT_TRUE(holder.is_live(grant.stamp));
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("a")}).holder, grant.stamp);
  EXPECT_EQ(other.meet_busy({write("b")}).holder, grant.stamp);
  EXPECT_TRUE(holder.release(grant.stamp));
  // SEM 8: above all earlier stamps.
  EXPECT_GT(other.take({write("a")}).stamp, grant.stamp);
}

// A hold that nobody registers is gone, and can't be brought back later
TEST_F(RedisTest, WhatIsNotRegisteredInTimeIsGone) {
  Client holder = open_brief("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  expect_refused(holder, {write("b")});
  wait_out(holder);
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  Client other = open("other");
  EXPECT_GT(other.take({write("a")}).stamp, grant.stamp);
}

// SEM 9: a holder may release a hold that the store has forgotten, once
TEST_F(RedisTest, AReleaseInQuarantineSucceedsOnce) {
  Client holder = open_brief("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  EXPECT_TRUE(holder.release(grant.stamp));
  EXPECT_FALSE(holder.release(grant.stamp));
  EXPECT_FALSE(holder.renew(grant.stamp, 30s)) << "released";
}

// SEM 6, 7: a living client restores the configuration
TEST_F(RedisTest, ALivingClientPutsTheConfigurationBack) {
  Client client = open_brief("client");
  client.set_permits("a", Mode::read, 5);
  const SpaceConfig before = client.config();
  admin_->say({"FLUSHALL"});
  client.reload();
  EXPECT_EQ(client.config(), before);
}

// A newcomer can't know what was lost
TEST_F(RedisTest, ANewcomerIsToldThatThereIsNoSpace) {
  admin_->say({"FLUSHALL"});
  const Result<std::unique_ptr<Backend>> opened = open_backend(url(), soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::misconfigured);
  EXPECT_NE(opened.error().message.find("lockset init"), std::string::npos);
}

// SEM 17: people see that nothing is granted, and for how long
TEST_F(RedisTest, AnInspectionShowsTheQuarantine) {
  Client client = open("client");
  client.change(SetMaxLease{10s});
  Locks locks = lockset::open(url()).value();
  EXPECT_FALSE(locks.inspect({}).value().quarantine);
  admin_->say({"FLUSHALL"});
  client.reload();
  using Match = InspectQuery::Match;
  for (const InspectQuery& query :
       {InspectQuery{}, InspectQuery{Match::name, "a"}, InspectQuery{Match::prefix, "a"}}) {
    const Inspection seen = locks.inspect(query).value();
    ASSERT_TRUE(seen.quarantine);
    EXPECT_GT(*seen.quarantine, 0s);
    EXPECT_LE(*seen.quarantine, 10s);
  }
}

// The same for a restart that keeps nothing
TEST_F(RedisTest, ARestartWithoutPersistenceIsAQuarantine) {
  Client holder = open_brief("holder");
  Client other = open("other");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  server_->kill();
  server_->start();
  EXPECT_TRUE(eventually([&] {
    const Result<std::optional<Renewal>> renewal = holder.ask_to_renew(grant.stamp, 30s);
    return renewal && *renewal;
  }));
  EXPECT_TRUE(eventually([&] { return other.backend().load_config(soon()).ok(); }));
  expect_refused(other, {write("x")});
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("a")}).holder, grant.stamp);
}

// SEM 20: if two claim a name, the later holder is the right one
TEST_F(RedisTest, OfTwoRegistrationsTheLaterGrantWins) {
  Client early = open_brief("early");
  Client late = open("late");
  const Grant first = early.take({write("a")}, {.lease = 30s});
  // It ends without the early client's knowledge: somebody else breaks it.
  ASSERT_TRUE(late.break_hold(first.stamp));
  const Grant second = late.take({write("a")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  ASSERT_TRUE(early.renew(first.stamp, 30s)) << "nobody else has come so far";
  ASSERT_TRUE(late.renew(second.stamp, 30s));
  EXPECT_FALSE(early.renew(first.stamp, 30s));
  EXPECT_TRUE(late.is_live(second.stamp));
  EXPECT_FALSE(late.is_live(first.stamp));
}

// SEM 12, 20: the hold on an application's id was granted before its epoch began, which is its
// stamp
TEST_F(RedisTest, AnApplicationWithReclaimKeepsItsHolds) {
  Client holder = open("app");
  const Grant older = holder.take({write("older")}, {.lease = 30s});
  const Grant id = holder.take({write("@app:app")}, {.lease = 30s});
  ASSERT_TRUE(holder.backend().reclaim("app", id.stamp.value, soon()));
  holder.reload();
  admin_->say({"FLUSHALL"});
  EXPECT_TRUE(holder.renew(id.stamp, 30s));
  EXPECT_TRUE(holder.is_live(id.stamp));
  EXPECT_FALSE(holder.renew(older.stamp, 30s)) << "the reclaim ended it";
}

// SEM 9: a renewal that arrives after the release does not bring the hold back
TEST_F(RedisTest, AReleaseInQuarantineIsNotUndone) {
  Client holder = open("holder");
  const Grant lost = holder.take({write("a")}, {.lease = 30s});
  const Grant there = holder.take({write("b"), read("c")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  ASSERT_TRUE(holder.renew(there.stamp, 30s)) << "registered again";
  for (const Stamp stamp : {lost.stamp, there.stamp}) {
    EXPECT_TRUE(holder.release(stamp));
    EXPECT_FALSE(holder.renew(stamp, 30s));
    EXPECT_FALSE(holder.release(stamp)) << "once";
    EXPECT_FALSE(holder.is_live(stamp));
  }
}

// SEM 17: a hold that a person broke does not come back at its next renewal
TEST_F(RedisTest, ABreakInQuarantineIsNotUndone) {
  Client holder = open("holder");
  Client boss = open("boss");
  const Grant one = holder.take({write("a")}, {.lease = 30s});
  const Grant two = holder.take({write("b"), read("c")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  for (const Stamp stamp : {one.stamp, two.stamp}) {
    ASSERT_TRUE(holder.renew(stamp, 30s)) << "it registers again";
    EXPECT_TRUE(boss.break_hold(stamp));
    EXPECT_FALSE(holder.renew(stamp, 30s));
    EXPECT_FALSE(boss.is_live(stamp));
  }
}

// SEM 9: nor does a hold that another process of the application has released
TEST_F(RedisTest, AReleaseByAnotherProcessInQuarantineIsNotUndone) {
  Client holder = open("app");
  Client other = open("app");
  const Grant grant = holder.take({write("a"), read("b")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  ASSERT_TRUE(holder.renew(grant.stamp, 30s)) << "it registers again";
  EXPECT_TRUE(other.release(grant.stamp));
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  EXPECT_FALSE(other.is_live(grant.stamp));
}

// The earlier of two claims gave way, and does not return when the later one ends.
TEST_F(RedisTest, WhoGaveWayInQuarantineDoesNotComeBack) {
  Client early = open("early");
  Client late = open("late");
  const Grant first = early.take({write("a")}, {.lease = 30s});
  ASSERT_TRUE(late.break_hold(first.stamp));
  const Grant second = late.take({write("a")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  ASSERT_TRUE(early.renew(first.stamp, 30s)) << "nobody else has come so far";
  ASSERT_TRUE(late.renew(second.stamp, 30s));
  ASSERT_TRUE(late.release(second.stamp));
  EXPECT_FALSE(early.renew(first.stamp, 30s));
}

// SEM 9: if its last renewals were lost with the state, the holder loses nothing
TEST_F(RedisTest, AHoldWhoseLastRenewalsWereLostCanBeReleased) {
  Client holder = open("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  const std::string stamp = std::to_string(grant.stamp.value);
  admin_->say({"ZADD", "{lockset}:leases", stamp, stamp});  // as if it had ended with its grant
  admin_->say({"HSET", "{lockset}", "run", "another process"});
  admin_->say({"HDEL", "{lockset}", "calm"});
  expect_refused(holder, {write("x")});
  EXPECT_TRUE(holder.release(grant.stamp));
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
}

// The notes about ended holds are removed after use
TEST_F(RedisTest, WhatWasBrokenLeavesNothing) {
  Client holder = open("holder");
  Client boss = open("boss");
  boss.change(SetMaxLease{5s});
  holder.reload();
  const Grant grant = holder.take({write("a"), write("b")}, {.lease = 30s});
  admin_->say({"FLUSHALL"});
  ASSERT_TRUE(holder.renew(grant.stamp, 4s));
  EXPECT_TRUE(boss.break_hold(grant.stamp));
  EXPECT_EQ(admin_->number({"ZCARD", "{lockset}:leases"}), 1);
  wait_out(boss);
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(boss.backend().sweep(soon()).value(), 0U) << "it is no hold";
    return admin_->number({"EXISTS", "{lockset}:leases"}) == 0;
  }));
}

// A server that keeps its data.
class RedisKept : public RedisServerTest {};

// SEM 17: the holder learns of it only after a restart, during the quarantine
TEST_F(RedisKept, ABreakShortlyBeforeARestartIsNotUndone) {
  if (!start_own()) return;
  Client holder = client("holder");
  Client boss = client("boss");
  const Grant one = holder.take({write("a")}, {.lease = 30s});
  const Grant two = holder.take({write("b"), read("c")}, {.lease = 30s});
  EXPECT_TRUE(boss.break_hold(one.stamp));
  EXPECT_TRUE(boss.break_hold(two.stamp));
  server().kill();
  server().start();
  EXPECT_TRUE(eventually([&] { return holder.backend().load_config(soon()).ok(); }));
  ASSERT_TRUE(holder.inspect().quarantine);
  EXPECT_FALSE(holder.renew(one.stamp, 30s));
  EXPECT_FALSE(holder.renew(two.stamp, 30s));
  EXPECT_TRUE(holder.holds().empty());
}

// A person with redis-cli recognises an exclusive hold
TEST_F(RedisTest, AnExclusiveHoldIsAStringWithAnEnd) {
  Client client = open("client");
  const Grant grant = client.take({write("a")}, {.lease = 30s});
  const std::string value = admin_->text({"GET", "{lockset}:name:a"});
  EXPECT_EQ(value, std::to_string(grant.stamp.value));
  EXPECT_GE(admin_->number({"PTTL", "{lockset}:name:a"}), 29'000);
  EXPECT_TRUE(client.release(grant.stamp));
  EXPECT_EQ(admin_->number({"EXISTS", "{lockset}:name:a"}), 0);
}

TEST_F(RedisTest, FlushedScriptsAreSentAgain) {
  Client client = open("client");
  admin_->say({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(client.release(client.take({write("a")}).stamp));
}

TEST_F(RedisTest, AnEvictingServerIsRefused) {
  admin_->say({"CONFIG", "SET", "maxmemory", "100mb"});
  admin_->say({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  const Result<std::unique_ptr<Backend>> opened = open_backend(url(), soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::misconfigured) << opened.error().message;
}

TEST_F(RedisTest, AWrongPasswordIsMisconfigured) {
  const std::string wrong = "redis://:wrong@127.0.0.1:" + std::to_string(server_->port()) + "/0";
  const Result<std::unique_ptr<Backend>> opened = open_backend(wrong, soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::misconfigured) << opened.error().message;
}

}  // namespace
}  // namespace lockset::redis_tests
