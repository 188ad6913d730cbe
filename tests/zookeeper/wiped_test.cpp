// SEM 8, 19: a space that is wiped and made again while clients live. Nothing that they know about
// the old one matches the new one, and they continue on their own.
#include <algorithm>
#include <thread>

#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Wiped : public ZookeeperTest {
 protected:
  void wipe() {
    raw().remove_tree(space());
    ASSERT_FALSE(raw().get(space()));
  }
  void wipe_and_init() {
    wipe();
    init_space(url(), soon()).value();
  }
};

// The name reaches the very version that the old client knows, and so does the configuration.
TEST_F(Wiped, WhatWasKnownBeforeFitsNothingAfter) {
  Client old = client("old");
  EXPECT_TRUE(old.release(old.take({write("a")}).stamp));
  wipe_and_init();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  EXPECT_EQ(old.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(fresh.is_live(stamp));
  EXPECT_TRUE(fresh.release(stamp));
  EXPECT_GT(old.take({write("a")}).stamp, stamp);
}

TEST_F(Wiped, AHolderIsToldAndTakesItAgain) {
  const auto counts = std::make_shared<EventCounts>();
  Locks mine = lockset::open(url(), {.app = "mine", .observer = counts}).value();
  Hold hold = mine.acquire({write("a"), read("b")}).value();
  const std::stop_token lost = hold.lost();
  wipe_and_init();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::not_held) << renewed.error().message;
  EXPECT_TRUE(says(renewed.error().message, "the store no longer has the hold"))
      << renewed.error().message;
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(counts->lost, 1);
  EXPECT_TRUE(fresh.is_live(stamp));
  const Result<Hold> other = mine.acquire({write("b")});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->valid());
  EXPECT_TRUE(fresh.release(stamp));
  EXPECT_TRUE(mine.acquire({write("a")}).ok());
}

// SEM 8: stamps may have run ahead of the clock, which is the only basis that init has.
TEST_F(Wiped, StampsOfAClientThatKnowsHigherOnesGoOnFromThere) {
  Client before = client("before");
  const Stamp high = before.take({write("a")}).stamp;
  before.change(RaiseStampBase{Stamp{high.value + 3'600'000'000}});
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  const Stamp known = mine.acquire({write("b")}).value().stamp();
  EXPECT_GT(known.value, high.value + 3'600'000'000);
  wipe_and_init();
  const Result<Hold> next = mine.acquire({write("b")});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GT(next->stamp(), known);
  EXPECT_GT(client("other").take({write("c")}).stamp, next->stamp());
}

TEST_F(Wiped, UntilThereIsANewSpaceItSaysSo) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  EXPECT_TRUE(mine.acquire({write("a")}).ok());
  wipe();
  const Result<Hold> refused = mine.acquire({write("a")});
  ASSERT_FALSE(refused);
  const std::string message = checked(refused.error(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "lockset init")) << message;
  init_space(url(), soon()).value();
  const Result<Hold> again = mine.acquire({write("a")});
  ASSERT_TRUE(again) << again.error().message;
}

// By a person who removes only the entry that names the generation.
TEST_F(Wiped, NobodyGoesOnInAGenerationThatTheHeadLost) {
  Client old = client("old");
  EXPECT_TRUE(old.release(old.take({write("a")}).stamp));
  ASSERT_EQ(raw().remove(space() + "/config"), 0);
  init_space(url(), soon()).value();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  EXPECT_EQ(old.meet_busy({write("a")}).holder, stamp);
}

// SEM 13
TEST_F(Wiped, AWaiterGoesOnInTheNewSpace) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  holder.take({write("a")});
  std::shared_ptr<WaitTicket> ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  wipe_and_init();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  const TimePoint until = BootClock::now() + long_time;
  static_cast<void>(waiter.backend().await_change(*ticket, until, {}).ok());
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = ticket});
  EXPECT_EQ(busy.holder, stamp);
  EXPECT_EQ(waiter.inspect().waiters.size(), 1U);
  EXPECT_TRUE(fresh.release(stamp));
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, until, {}));
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  EXPECT_GT(waiter.take({write("a")}, {.ticket = busy.ticket}).stamp, stamp);
  EXPECT_TRUE(waiter.inspect().waiters.empty());
}

// SEM 6, 7: nor do the permits that were read.
TEST_F(Wiped, PermitsOfTheOldSpaceAreNotThoseOfTheNewOne) {
  Client old = client("old");
  old.set_permits("a", Mode::read, 1000);
  EXPECT_TRUE(old.release(old.take({read("a")}).stamp));
  wipe_and_init();
  Client fresh = client("fresh");
  fresh.set_permits("a", Mode::read, 1);
  const Stamp stamp = fresh.take({read("a")}).stamp;
  EXPECT_EQ(old.meet_busy({read("a")}).holder, stamp);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
