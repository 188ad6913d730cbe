// SEM 10: "A hold is never renewed after expiry", not even in the moment before the thread that
// ends such holds has run: a process that was stopped finds them like this when it continues.
#include "backends/zookeeper/own_holds.h"

#include <gtest/gtest.h>

#include <memory>

namespace lockset::zookeeper {
namespace {

using namespace std::chrono_literals;

// Without a session: nothing here may need one to know that the hold is over.
std::shared_ptr<OwnHold> hold(const std::string& token) {
  return std::shared_ptr<OwnHold>(
      new OwnHold{token, {write("a")}, "app", "label", 0, 10s, nullptr});
}

TEST(OwnHolds, PastTheDeadlineItIsOverBeforeAnybodyHasRemovedIt) {
  OwnHolds own;
  own.ask(hold("late"), BootClock::now() - 1ms);
  own.sent("late");
  own.granted("late", Stamp{7});
  ASSERT_TRUE(own.find(Stamp{7}));
  EXPECT_FALSE(own.find(Stamp{7})->live());
  EXPECT_FALSE(own.renew("late", BootClock::now()));
  EXPECT_LT(own.next_deadline(), BootClock::now()) << "a renewal moved it";
}

TEST(OwnHolds, WhatIsBeingRemovedIsNotRenewed) {
  OwnHolds own;
  own.ask(hold("going"), BootClock::now() - 1ms);
  own.sent("going");
  own.granted("going", Stamp{7});
  ASSERT_EQ(own.take_due(BootClock::now()).size(), 1U);
  EXPECT_FALSE(own.find(Stamp{7})->live());
  EXPECT_FALSE(own.renew("going", BootClock::now()));
  EXPECT_EQ(own.next_deadline(), TimePoint::max());
}

// SEM 14: a late answer proves no contact with the servers later than its request: the lease does
// not begin with the answer.
TEST(OwnHolds, ALateAnswerDoesNotProlong) {
  OwnHolds own;
  const TimePoint deadline = BootClock::now() + 10s;
  own.ask(hold("slow"), deadline);
  own.granted("slow", Stamp{7});
  EXPECT_EQ(own.find("slow")->deadline, deadline);
}

// A process that is stopped just before it sends a request may be past the deadline when it
// continues: a removal that is sent first would find nothing, and the hold would have no end.
TEST(OwnHolds, WhatIsNotUnderWayYetIsNotRemoved) {
  OwnHolds own;
  int rung = 0;
  own.on_earlier_deadline([&](TimePoint) { ++rung; });
  own.ask(hold("stopped"), BootClock::now() - 1ms);
  EXPECT_EQ(own.take_due(BootClock::now()).size(), 0U);
  EXPECT_EQ(own.next_deadline(), TimePoint::max());
  EXPECT_EQ(rung, 0);
  own.sent("stopped");
  EXPECT_EQ(rung, 1);
  EXPECT_EQ(own.take_due(BootClock::now()).size(), 1U);
}

// Requested but not answered: it may be granted at any moment, and is not a hold yet.
TEST(OwnHolds, WhatIsOnlyAskedForIsNotRenewed) {
  OwnHolds own;
  own.ask(hold("asked"), BootClock::now() + 10s);
  EXPECT_FALSE(own.renew("asked", BootClock::now()));
  EXPECT_FALSE(own.find(Stamp{7}));
}

}  // namespace
}  // namespace lockset::zookeeper
