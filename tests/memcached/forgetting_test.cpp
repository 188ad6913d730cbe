// SEM 8, 10, 20 if the server forgets the space: a restart, flush_all, an eviction.
#include <functional>

#include "tests/memcached/fixture.h"

namespace lockset::memcached_tests {
namespace {

class Forgetting : public MemcachedTest {
 protected:
  // The life's item, or the pointer to it, is thrown away.
  void lose(const std::string& what) {
    if (what == "restart") return server().restart();
    test::RawMemcached raw = this->raw();
    if (what == "flush_all") {
      ASSERT_EQ(raw.say("flush_all"), "OK");
    } else {
      const std::string key = what == "pointer" ? "lockset:lockset" : "lockset:lockset:" + life();
      ASSERT_EQ(raw.say("delete " + key), "DELETED");
    }
  }
};

// SEM 20: nobody gets anything until every lease of before has ended, and living holders stay.
TEST_F(Forgetting, LivingHoldersStayAndNobodyElseComes) {
  if (!start_with_space()) return;
  Client holder = client("holder");
  Client other = client("other");
  for (const std::string what : {"restart", "pointer", "state"}) {
    SCOPED_TRACE(what);
    const Grant grant = holder.take({write("a"), read("b")}, {.lease = 4s});
    lose(what);
    const TimePoint lost = BootClock::now();
    expect_refused(other);
    EXPECT_TRUE(holder.renew(grant.stamp, 4s));
    EXPECT_TRUE(holder.is_live(grant.stamp));
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(holder.renew(grant.stamp, 4s));
      return !other.inspect().quarantine;
    }));
    EXPECT_GE(BootClock::now(), lost + 4s);
    EXPECT_FALSE(other.try_take({write("b")}));
    EXPECT_TRUE(holder.release(grant.stamp));
    const Grant next = other.take({write("a")}, {.lease = 1s});
    EXPECT_GT(next.stamp, grant.stamp);
    EXPECT_TRUE(other.release(next.stamp));
  }
}

// Other data took the room. What is used stays longest, so nobody looks meanwhile.
TEST_F(Forgetting, AnEvictionIsALossToo) {
  if (!start_with_space({"-m", "2"})) return;
  Client other = client("other");
  test::RawMemcached raw = this->raw();
  const std::string pointer = raw.get("lockset:lockset")->value;
  int number = 0;
  for (int tries = 0; tries < 20 && raw.get("lockset:lockset"); ++tries) {
    for (int i = 0; i < 50'000; ++i) {
      ASSERT_EQ(raw.store("set", "other:data:" + std::to_string(++number), pointer), "STORED");
    }
  }
  ASSERT_FALSE(raw.get("lockset:lockset")) << "nothing was thrown away";
  expect_refused(other);
  wait_out(other);
  EXPECT_TRUE(other.try_take({write("a")}, {.lease = 1s}));
}

// A holder that died is not registered again; its lease has ended by then.
TEST_F(Forgetting, ADeadHoldersSetIsFreeAfterTheQuarantine) {
  if (!start_with_space()) return;
  Client other = client("other");
  const Stamp stamp = client("dead").take({write("a")}, {.lease = 4s}).stamp;
  const TimePoint until = BootClock::now() + 4s;
  lose("flush_all");
  std::optional<Grant> next;
  EXPECT_TRUE(eventually([&] {
    const Result<AcquireOutcome> outcome = other.ask({write("a")}, {.lease = 1s});
    if (outcome && std::holds_alternative<Grant>(*outcome)) next = std::get<Grant>(*outcome);
    return next.has_value();
  }));
  EXPECT_GE(BootClock::now(), until - 100ms);
  EXPECT_GT(next.value().stamp, stamp);
}

// SEM 6, 7: what was configured comes back with the client that knows it.
TEST_F(Forgetting, TheConfigurationComesBack) {
  if (!start_with_space()) return;
  Client c = client();
  c.change(SetPermits{"a", Mode::read, 7});
  const SpaceConfig before = c.config();
  lose("restart");
  c.reload();
  EXPECT_EQ(c.config(), before);
  EXPECT_EQ(client("fresh").config(), before);
}

TEST_F(Forgetting, WhoNeverSawTheSpaceSaysSo) {
  if (!start_with_space()) return;
  lose("restart");
  const auto opened = open_backend(url(), soon());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::misconfigured);
  EXPECT_NE(opened.error().message.find("lockset init"), std::string::npos);
}

// SEM 20: init can't tell a new space from a lost one, so it waits as long as any lease may last.
TEST_F(Forgetting, AnInitBeginsWithAQuarantine) {
  if (!start_with_space()) return;
  lose("restart");
  init_space(url(), soon()).value();
  Client fresh = client("fresh");
  expect_refused(fresh);
  EXPECT_GT(fresh.inspect().quarantine.value_or(0s), 9min);
  init_space(url() + "?first=on", soon()).value();  // it is there already
  expect_refused(fresh);
}

// SEM 20: somebody said that it was the first one, and was wrong: whoever knows better says so.
TEST_F(Forgetting, ALivingClientKnowsBetterThanAnInit) {
  if (!start_with_space()) return;
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 4s});
  lose("restart");
  init_space(url() + "?first=on", soon()).value();
  EXPECT_TRUE(holder.renew(grant.stamp, 4s));
  Client fresh = client("fresh");
  expect_refused(fresh);
  wait_out(fresh);
  EXPECT_EQ(fresh.config().max_lease, Duration(10min)) << "the newer configuration counts";
}

// SEM 10, 13: through the core, without a test that helps it.
TEST_F(Forgetting, LocksGoOn) {
  if (!start_with_space()) return;
  Locks mine = lockset::open(url(), {.app = "mine", .lease = 4s, .store_patience = 30s}).value();
  Locks other = lockset::open(url(), {.app = "other", .lease = 4s, .store_patience = 30s}).value();
  Hold hold = mine.acquire({write("a")}).value();
  lose("flush_all");
  Hold next = other.acquire({write("b")}, {.wait = 30s}).value();
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(other.try_acquire({write("a")}).value());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(next.release());
}

}  // namespace
}  // namespace lockset::memcached_tests
