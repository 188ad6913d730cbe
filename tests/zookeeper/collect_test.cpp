// SEM 19: the nodes of idle names are removed, and nothing that a slow client remembers matches
// what comes after them.
#include <atomic>
#include <thread>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/housekeeping.h"
#include "backends/zookeeper/name_cache.h"
#include "backends/zookeeper/store.h"
#include "lockset/url.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Collect : public ZookeeperTest {
 protected:
  // Collects everything that is idle now. Returns the number of names.
  std::size_t collect() {
    if (!space_) {
      const auto options = zookeeper::parse_address(Url::parse(url()).value()).value();
      space_ = zookeeper::OpenSpace::open(options, soon()).value();
    }
    zookeeper::Housekeeping housekeeping(*space_);
    return housekeeping.collect(-1min, soon()).value();
  }
  [[nodiscard]] std::int32_t version_of(const std::string& name) {
    return raw().get(root() + "/names/" + name).value().version;
  }

 private:
  std::unique_ptr<zookeeper::OpenSpace> space_;
};

TEST_F(Collect, TakesIdleNamesAlone) {
  Client mine = client();
  EXPECT_TRUE(mine.release(mine.take({write("idle"), read("idle/too")}).stamp));
  const Stamp held = mine.take({write("held")}).stamp;
  EXPECT_EQ(collect(), 2U);
  EXPECT_EQ(raw().children(root() + "/names"), std::vector<std::string>{"held"});
  EXPECT_TRUE(mine.is_live(held));
  EXPECT_EQ(collect(), 0U);
  // Until then a name without holders stays: it is no container node.
  EXPECT_TRUE(mine.release(held));
  EXPECT_EQ(version_of("held"), 1);
  EXPECT_TRUE(mine.take({write("idle"), write("idle/too")}).stamp > held);
}

// SEM 13, 19: the name's node tells others that somebody is in line for it.
TEST_F(Collect, LeavesNamesThatSomebodyWaitsFor) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  holder.take({write("held")});
  const Busy busy = waiter.meet_busy({write("free"), write("held")}, {.will_wait = true});
  EXPECT_TRUE(holder.release(holder.take({write("idle")}).stamp));
  EXPECT_EQ(collect(), 1U);
  EXPECT_EQ(collect(), 0U);
  waiter.backend().end_wait(*busy.ticket, soon());
  EXPECT_EQ(collect(), 1U);
  EXPECT_EQ(raw().children(root() + "/names"), std::vector<std::string>{"held"});
}

// SEM 13: the name tells of a line already, so whoever comes leaves it alone.
TEST_F(Collect, LeavesNamesThatSomebodyComesFor) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  holder.take({write("held")});
  const Wanted both{write("free"), write("held")};
  waiter.backend().end_wait(*waiter.meet_busy(both, {.will_wait = true}).ticket, soon());
  std::atomic<bool> ended = false;
  std::jthread collecting([&] {
    while (!ended) collect();
  });
  for (int i = 0; i < 100; ++i) {
    const Busy busy = waiter.meet_busy(both, {.will_wait = true});
    const auto node = raw().get(root() + "/names/free");
    EXPECT_TRUE(node && !node->data.empty()) << "in round " << i;
    waiter.backend().end_wait(*busy.ticket, soon());
  }
  ended = true;
}

// The name is made again and reaches the very version that the slow client knows.
TEST_F(Collect, WhatWasKnownBeforeFitsNothingAfter) {
  Client slow = client("slow");
  EXPECT_TRUE(slow.release(slow.take({write("a")}).stamp));
  const std::int32_t known = version_of("a");
  EXPECT_EQ(collect(), 1U);
  Client quick = client("quick");
  const Stamp stamp = quick.take({write("a")}).stamp;
  ASSERT_EQ(version_of("a"), known) << "nothing is tested";
  EXPECT_EQ(slow.meet_busy({write("a")}).holder, stamp);
}

// The same while the request is under way.
TEST_F(Collect, ARequestOnItsWayFitsNothingAfter) {
  test::TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  EXPECT_TRUE(slow.release(slow.take({write("a")}).stamp));
  const std::int32_t known = version_of("a");
  proxy.hold_next_request();
  const auto outcome = slow.ask_once({write("a")}, {.by = BootClock::now() + 300ms});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  ASSERT_EQ(outcome.error().code, Errc::indeterminate) << "it was not the step that grants";
  EXPECT_EQ(collect(), 1U);
  Client quick = client("quick");
  const Stamp stamp = quick.take({write("a")}).stamp;
  ASSERT_EQ(version_of("a"), known) << "nothing is tested";
  EXPECT_EQ(proxy.deliver_held(), 1U);
  // An answer in the same session comes after the other one's.
  EXPECT_TRUE(slow.release(slow.take({write("b")}).stamp));
  const std::vector<HoldInfo> holds = quick.holds();
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds.front().stamp, stamp);
}

// A waiter for a removed name finds the name when it comes back.
TEST_F(Collect, AQueueThatGoesWithItsNameIsMadeAgain) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  for (int i = 0; i < 2; ++i) {
    const Stamp stamp = holder.take({write("a")}).stamp;
    const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
    EXPECT_TRUE(holder.release(stamp));
    const TimePoint until = BootClock::now() + long_time;
    EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, until, {}));
    EXPECT_LT(BootClock::now(), until);
    EXPECT_TRUE(waiter.release(waiter.take({write("a")}, {.ticket = busy.ticket}).stamp));
    EXPECT_EQ(collect(), 1U);
    EXPECT_EQ(raw().children(root() + "/queues"), std::vector<std::string>{".waiters"});
  }
}

// A server counts versions in 32 bits, and wraps to below zero.
TEST(KnownNames, VersionsGoRound) {
  zookeeper::NameCache names;
  const auto state = [](std::int32_t version) {
    zookeeper::NameState name;
    name.exists = true;
    name.version = version;
    return name;
  };
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  names.put("a", state(most));
  EXPECT_EQ(names.find("a", 0, 0)->version, most);
  names.put("a", state(least));
  EXPECT_EQ(names.find("a", 0, 0)->version, least) << "it comes after the greatest";
  names.put("a", state(most));
  EXPECT_EQ(names.find("a", 0, 0)->version, least) << "an older one, told late";
}

}  // namespace
}  // namespace lockset::zookeeper_tests
