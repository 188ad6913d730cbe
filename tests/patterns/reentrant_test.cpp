#include "lockset/patterns/reentrant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>

#include "tests/patterns/space.h"
#include "tests/support/forked.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::patterns_tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

static_assert(!std::is_copy_constructible_v<ReentrantHold>);
static_assert(!std::is_constructible_v<bool, Tried<std::optional<ReentrantHold>>>);

class Reentrant : public SpaceTest {
 protected:
  Locks plain_ = open_locks();
  ReentrantLocks locks_{plain_};
};
LOCKSET_PATTERN_SUITE(Reentrant);

// SEM 22
TEST_P(Reentrant, TheSameAndASubsetAreTheSameHold) {
  ReentrantHold outer = locks_.acquire({write("a"), read("b")}).value();
  ReentrantHold same = locks_.acquire({read("b"), write("a")}, {.wait = 0s}).value();
  ReentrantHold less = locks_.acquire({write("a")}, {.wait = 0s}).value();
  ReentrantHold weaker = locks_.try_acquire({read("a")}).value().value();
  EXPECT_EQ(same.stamp(), outer.stamp());
  EXPECT_EQ(less.stamp(), outer.stamp());
  EXPECT_EQ(weaker.stamp(), outer.stamp());
  EXPECT_EQ(outer.count(), 4U);
  EXPECT_EQ(holds().size(), 1U);
  EXPECT_EQ(less.hold().items().size(), 2U);
}

// SEM 22, 28: the store decides on a condition, and is not asked for what the owner holds already
TEST_P(Reentrant, WhatIsHeldIsNotTakenOnACondition) {
  const Observation seen = plain_.observe({"a"}).value();
  {
    ReentrantHold outer = locks_.acquire({write("a")}, {.unchanged_since = seen}).value();
    for (const Error& error :
         {locks_.acquire({write("a")}, {.unchanged_since = seen}).error(),
          locks_.try_acquire({read("a")}, {.unchanged_since = seen}).error()}) {
      EXPECT_EQ(error.code, Errc::invalid);
      EXPECT_THAT(error.message, HasSubstr("validate the observation"));
    }
    EXPECT_EQ(outer.count(), 1U);
  }
  EXPECT_EQ(locks_.acquire({write("a")}, {.unchanged_since = seen}).error().code, Errc::changed);
}

// SEM 22: in whatever order
TEST_P(Reentrant, TheLastReleaseReleases) {
  for (const bool outer_first : {true, false}) {
    ReentrantHold outer = locks_.acquire({write("a")}).value();
    ReentrantHold inner = locks_.acquire({write("a")}).value();
    ReentrantHold& first = outer_first ? outer : inner;
    ReentrantHold& last = outer_first ? inner : outer;
    EXPECT_TRUE(first.release().ok());
    EXPECT_TRUE(last.valid());
    EXPECT_FALSE(is_free({write("a")}));
    EXPECT_TRUE(last.release().ok());
    EXPECT_TRUE(is_free({write("a")}));
  }
}

// SEM 22
TEST_P(Reentrant, MoreReleasesThanAcquiresAreAnError) {
  ReentrantHold outer = locks_.acquire({write("a")}).value();
  ReentrantHold inner = locks_.acquire({write("a")}).value();
  EXPECT_TRUE(inner.release().ok());
  EXPECT_EQ(inner.release().error().code, Errc::not_held);
  EXPECT_EQ(inner.release().error().code, Errc::not_held);
  EXPECT_EQ(inner.stamp(), Stamp{});
  EXPECT_EQ(inner.count(), 0U);
  EXPECT_TRUE(outer.valid());  // the counts of others are not touched
  EXPECT_EQ(outer.count(), 1U);
  EXPECT_FALSE(is_free({write("a")}));
}

TEST_P(Reentrant, HandlesMoveAndAreReleasedByTheirEnd) {
  ReentrantHold outer = locks_.acquire({write("a")}).value();
  {
    ReentrantHold inner = locks_.acquire({write("a")}).value();
    ReentrantHold moved = std::move(inner);
    EXPECT_EQ(outer.count(), 2U);
    EXPECT_FALSE(inner.valid());                              // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(inner.release().error().code, Errc::not_held);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(inner.renew().error().code, Errc::not_held);    // NOLINT(bugprone-use-after-move)
  }
  EXPECT_EQ(outer.count(), 1U);
  outer = locks_.acquire({write("b")}).value();  // gives the last count on "a" back
  EXPECT_TRUE(is_free({write("a")}));
  EXPECT_FALSE(is_free({write("b")}));
}

// SEM 22
TEST_P(Reentrant, MoreThanIsHeldIsRefused) {
  const ReentrantHold one = locks_.acquire({write("a"), read("b")}).value();
  const ReentrantHold two = locks_.acquire({write("c")}).value();
  const auto more = locks_.acquire({write("a"), write("d")});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::invalid);
  EXPECT_THAT(more.error().message,
              AllOf(HasSubstr("\"a\""), HasSubstr("\"d\""), HasSubstr("wait for itself"),
                    HasSubstr(std::to_string(one.stamp().value))));
  const auto stronger = locks_.acquire({write("b")});
  ASSERT_FALSE(stronger);
  EXPECT_EQ(stronger.error().code, Errc::invalid);
  EXPECT_THAT(stronger.error().message, AllOf(HasSubstr("\"b\" as read"), HasSubstr("as write")));
  EXPECT_EQ(locks_.try_acquire({write("b")}).error().code, Errc::invalid);
  // All of it is held, but not in one hold with one stamp
  EXPECT_EQ(locks_.acquire({write("a"), write("c")}).error().code, Errc::invalid);
  EXPECT_TRUE(is_free({write("d")}));  // nothing was taken
  EXPECT_EQ(one.count(), 1U);
}

TEST_P(Reentrant, OtherNamesAreOtherHolds) {
  const ReentrantHold one = locks_.acquire({write("a")}).value();
  const ReentrantHold two = locks_.acquire({write("b")}, {.wait = 0s}).value();
  EXPECT_NE(one.stamp(), two.stamp());
  EXPECT_EQ(holds().size(), 2U);
}

TEST_P(Reentrant, OtherOwnersContend) {
  const ReentrantOwner one = ReentrantOwner::make();
  const ReentrantOwner two = ReentrantOwner::make();
  ASSERT_NE(one, two);
  const ReentrantHold held = locks_.acquire({write("a")}, {}, one).value();
  EXPECT_FALSE(locks_.try_acquire({write("a")}, {}, two).value());
  EXPECT_FALSE(locks_.try_acquire({write("a")}).value());  // this thread is no owner of it
  EXPECT_EQ(locks_.acquire({write("a")}, {.wait = 0s}, two).error().code, Errc::timeout);
  EXPECT_TRUE(locks_.try_acquire({write("a")}, {}, one).value());
  std::jthread([&] {  // an owner is a value: any thread may use it
    EXPECT_EQ(locks_.acquire({write("a")}, {.wait = 0s}, one).value().stamp(), held.stamp());
  });
}

// SEM 22: a thread that ended does not come again, even if the system uses its number again
TEST_P(Reentrant, AThreadThatEndedLeavesItsHoldToItsHandle) {
  ReentrantHold left;
  std::jthread([&] { left = locks_.acquire({write("a")}).value(); }).join();
  EXPECT_TRUE(left.valid());
  for (int i = 0; i < 20; ++i) {
    std::jthread([&] { EXPECT_FALSE(locks_.try_acquire({write("a")}).value()); });
  }
  EXPECT_TRUE(left.release().ok());
  EXPECT_TRUE(locks_.try_acquire({write("a")}).value());
}

// SEM 22
TEST_P(Reentrant, ALostHoldIsNotHandedOutAgain) {
  ReentrantHold outer = locks_.acquire({write("a"), write("b")}).value();
  ReentrantHold inner = locks_.acquire({write("a")}).value();
  break_hold(outer.stamp());
  EXPECT_EQ(outer.renew().error().code, Errc::not_held);
  EXPECT_FALSE(inner.valid());
  const auto again = locks_.acquire({write("a")});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::not_held);
  EXPECT_THAT(again.error().message, AllOf(HasSubstr(std::to_string(outer.stamp().value)),
                                           HasSubstr("release it before")));
  EXPECT_EQ(locks_.try_acquire({write("b"), write("c")}).error().code, Errc::not_held);
  EXPECT_TRUE(locks_.acquire({write("c")}).ok());  // which the lost hold does not have
  // Each count is told that it was no lock to its end
  EXPECT_EQ(inner.release().error().code, Errc::not_held);
  EXPECT_EQ(locks_.acquire({write("a")}).error().code, Errc::not_held);
  EXPECT_EQ(outer.release().error().code, Errc::not_held);
  EXPECT_TRUE(locks_.acquire({write("a")}, {.wait = 0s}).value().valid());
}

// SEM 22: two threads of one owner ask at the same time, and must not wait for each other
TEST_P(Reentrant, ThreadsOfOneOwnerShareOneGrant) {
  constexpr std::size_t threads = 4;
  for (int round = 0; round < 20; ++round) {
    const ReentrantOwner owner = ReentrantOwner::make();
    std::vector<ReentrantHold> held(threads);
    test::run_threads(threads, [&](std::size_t i) {
      held[i] = locks_.acquire({write("a")}, {.wait = longest_wait}, owner).value();
    });
    for (const ReentrantHold& each : held) EXPECT_EQ(each.stamp(), held[0].stamp());
    EXPECT_EQ(held[0].count(), threads);
    EXPECT_EQ(holds().size(), 1U);
    test::run_threads(threads, [&](std::size_t i) { EXPECT_TRUE(held[i].release().ok()); });
    EXPECT_TRUE(is_free({write("a")}));
  }
}

// The second call waits for the first one, within its own limits, and decides by its answer
TEST_P(Reentrant, ACallWaitsForTheOwnersOtherCall) {
  Locks rival = open_locks();
  Hold in_the_way = rival.acquire({write("a")}).value();
  const ReentrantOwner owner = ReentrantOwner::make();
  ReentrantHold first;
  std::jthread asking([&] {
    for (;;) {
      auto answer = locks_.acquire({write("a"), write("b")}, {.wait = longest_wait}, owner);
      if (!answer && answer.error().code == Errc::invalid) continue;  // it met the try below
      first = std::move(answer).value();
      return;
    }
  });
  // "b" is free: a try for it fails once the first call is asking for it
  ASSERT_TRUE(
      test::eventually([&] { return !locks_.try_acquire({write("b")}, {}, owner).value(); }));
  const TimePoint began = BootClock::now();
  EXPECT_EQ(locks_.acquire({write("a")}, {.wait = 20ms}, owner).error().code, Errc::timeout);
  EXPECT_GE(BootClock::now() - began, 20ms);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(locks_.acquire({write("a")}, {.stop = stop.get_token()}, owner).error().code,
            Errc::cancelled);
  std::optional<Errc> superset;
  std::jthread second([&] {
    const auto answer = locks_.acquire({write("a"), write("c")}, {.wait = longest_wait}, owner);
    if (!answer) superset = answer.error().code;
  });
  in_the_way.release().value();
  asking.join();
  second.join();
  EXPECT_EQ(superset, Errc::invalid);
  EXPECT_TRUE(first.valid());
}

// A call that fails leaves nothing behind that others would wait for
TEST_P(Reentrant, AFailedCallIsForgotten) {
  Locks rival = open_locks();
  Hold in_the_way = rival.acquire({write("a")}).value();
  EXPECT_EQ(locks_.acquire({write("a")}, {.wait = 0s}).error().code, Errc::timeout);
  EXPECT_FALSE(locks_.try_acquire({write("a")}).value());
  in_the_way.release().value();
  EXPECT_TRUE(locks_.try_acquire({write("a"), write("b")}).value());
  EXPECT_EQ(locks_.acquire({}).error().code, Errc::invalid);
}

// The holds outlive the decorator, and end with their Locks
TEST_P(Reentrant, HandlesOutliveTheDecorator) {
  std::optional<Locks> plain = open_locks();
  std::optional<ReentrantLocks> locks(std::in_place, *plain);
  ReentrantHold one = locks->acquire({write("a")}).value();
  ReentrantHold two = locks->acquire({write("a")}).value();
  ReentrantHold three = locks->acquire({write("b")}).value();
  locks.reset();
  EXPECT_TRUE(one.valid());
  EXPECT_TRUE(one.release().ok());
  EXPECT_FALSE(is_free({write("a")}));
  EXPECT_TRUE(two.release().ok());
  EXPECT_TRUE(is_free({write("a")}));
  plain.reset();
  EXPECT_TRUE(is_free({write("b")}));
  EXPECT_FALSE(three.valid());
  EXPECT_EQ(three.release().error().code, Errc::not_held);
}

// SEM 18
TEST_P(Reentrant, AChildOfForkHasNothingOfIt) {
  ReentrantHold outer = locks_.acquire({write("a")}).value();
  ReentrantHold inner = locks_.acquire({write("a")}).value();
  EXPECT_EQ(test::in_child([&] {
              if (outer.valid() || outer.count() != 0) return 1;
              if (locks_.acquire({write("a")}).error().code != Errc::invalid) return 2;
              if (locks_.try_acquire({write("b")}).error().code != Errc::invalid) return 3;
              if (inner.release().error().code != Errc::not_held) return 4;
              outer = {};
              return 0;
            }),
            0);
  EXPECT_TRUE(outer.valid());
  EXPECT_EQ(outer.count(), 2U);
  EXPECT_FALSE(is_free({write("a")}));
}

// The core stays as it is. SEM 15
TEST_P(Reentrant, LocksItselfIsNot) {
  const Hold hold = plain_.acquire({write("a")}).value();
  EXPECT_FALSE(plain_.try_acquire({write("a")}).value());
  EXPECT_FALSE(locks_.try_acquire({write("a")}).value());
}

}  // namespace
}  // namespace lockset::patterns_tests
