// SEM 10: "A hold is never renewed after expiry", not even in the moment before the thread that
// ends such holds has run: a process that was stopped finds them like this when it continues.
// SEM 29, 30: a hold and the attempts to take its place, whose answers are still to come.
#include "backends/zookeeper/own_holds.h"

#include <gtest/gtest.h>

#include <memory>

#include "lockset/url.h"
#include "tests/zookeeper/fixture.h"

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

// --- attempts to take the place of a hold ---

constexpr Breaks breaks = 5;
constexpr ConnectionNumber connection = 1;

std::shared_ptr<OwnHold> hold_in(const std::shared_ptr<Seat>& seat, const std::string& token,
                                 const std::string& replaces = {}) {
  return std::shared_ptr<OwnHold>(
      new OwnHold{token, {write("a")}, "app", "label", 0, 10s, seat, connection, replaces});
}

// A hold that need not be looked for.
void take(OwnHolds& own, TimePoint deadline, const std::shared_ptr<Seat>& seat = {}) {
  own.ask(hold_in(seat, "old"), deadline, connection);
  own.sent("old");
  own.granted("old", Stamp{7});
  own.saw(breaks, connection);
  own.seen("old", breaks, connection);
  ASSERT_TRUE(own.doubtful({"old"}, connection).empty());
}

// It may have ended for that attempt, and the node above all holds does not tell.
TEST(OwnHolds, AnAttemptPutsTheHoldInDoubt) {
  OwnHolds own;
  const TimePoint deadline = BootClock::now() + 10s;
  take(own, deadline);
  own.ask(hold_in({}, "new", "old"), deadline, connection);
  EXPECT_EQ(own.doubtful({"old"}, connection).size(), 1U) << "before it is sent";
  own.sent("new");
  own.seen("old", breaks, connection);
  EXPECT_EQ(own.doubtful({"old"}, connection).size(), 1U) << "it was there before, and may not be";
  own.forget("new");
  EXPECT_EQ(own.doubtful({"old"}, connection).size(), 1U) << "perhaps it had been granted";
  own.seen("old", breaks, connection);
  EXPECT_TRUE(own.doubtful({"old"}, connection).empty());
}

TEST(OwnHolds, AGrantTakesThePlace) {
  OwnHolds own;
  const TimePoint deadline = BootClock::now() + 10s;
  take(own, deadline);
  own.ask(hold_in({}, "new", "old"), deadline, connection);
  own.sent("new");
  own.granted("new", Stamp{8});
  EXPECT_FALSE(own.find(Stamp{7}));
  EXPECT_FALSE(own.find("old"));
  ASSERT_TRUE(own.find(Stamp{8}));
  EXPECT_EQ(own.take_due(deadline).size(), 1U) << "the old one need not be removed";
}

// SEM 10, 29: "at least what was left of its lease"
TEST(OwnHolds, AnAttemptEndsNoSoonerThanTheHold) {
  OwnHolds own;
  const TimePoint deadline = BootClock::now() + 10s;
  take(own, deadline);
  own.ask(hold_in({}, "new", "old"), deadline - 5s, connection);
  own.sent("new");
  EXPECT_EQ(own.find("new")->deadline, deadline);
  own.ask(hold_in({}, "longer", "old"), deadline + 5s, connection);
  EXPECT_EQ(own.find("longer")->deadline, deadline + 5s);
}

// SEM 14, 29: done too late, so nobody may use it. But the old hold may have ended for it, and
// counts as held until its client learns that.
TEST(OwnHolds, AnAttemptThatNobodyMayUseStaysAsLongAsTheHold) {
  OwnHolds own;
  int rung = 0;
  own.on_earlier_deadline([&](TimePoint) { ++rung; });
  const TimePoint deadline = BootClock::now() + 10s;
  take(own, deadline);
  const int before = rung;
  own.ask(hold_in({}, "new", "old"), deadline, connection);
  own.sent("new");
  EXPECT_FALSE(own.done_in("new", connection + 1));
  EXPECT_FALSE(own.done_in("new", connection)) << "whatever is learnt later";
  EXPECT_EQ(rung, before) << "its removal was ordered";
  EXPECT_EQ(own.find("new")->deadline, deadline);
  EXPECT_EQ(own.doubtful({"old"}, connection).size(), 1U);
  own.ask(hold_in({}, "other", "old"), deadline, connection);
  own.refuse("other");
  EXPECT_FALSE(own.done_in("other", connection));
}

// With a session, whose timeout bounds each renewal.
class OwnHoldsInASession : public zookeeper_tests::ZookeeperTest {
 protected:
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Options options = parse_address(Url::parse(url()).value()).value();
    const std::shared_ptr<Session> session = Session::open(options, 5min).value();
    ASSERT_TRUE(session->ready(zookeeper_tests::soon()));
    const auto used = std::make_shared<std::atomic<std::size_t>>(1);
    seat_ = std::make_shared<Seat>(session, used, 1);
  }
  [[nodiscard]] const std::shared_ptr<Seat>& seat() const { return seat_; }

 private:
  std::shared_ptr<Seat> seat_;
};

// SEM 10, 29: a renewal that was sent before the attempt, and answered after it, moves the end of
// the hold. If the attempt is granted, it must not end before that.
TEST_F(OwnHoldsInASession, ARenewalMovesTheEndOfLaterAttemptsToo) {
  OwnHolds own;
  const TimePoint sent = BootClock::now();
  take(own, sent + 5s, seat());
  own.ask(hold_in(seat(), "under way", "old"), sent + 5s, connection);
  own.sent("under way");
  own.ask(hold_in(seat(), "to be sent", "old"), sent + 5s, connection);
  ASSERT_TRUE(own.renew("old", sent));
  const TimePoint end = own.find("old")->deadline;
  ASSERT_EQ(end, sent + 10s);
  EXPECT_EQ(own.find("under way")->deadline, end);
  EXPECT_EQ(own.find("to be sent")->deadline, end);
  own.sent("to be sent");
  EXPECT_EQ(own.take_due(end - 1ms).size(), 0U);
  EXPECT_EQ(own.take_due(end).size(), 3U);
}

// It came before the renewal, which found the hold all the same: it was refused.
TEST_F(OwnHoldsInASession, ARenewalDoesNotKeepAnAttemptThatFailed) {
  OwnHolds own;
  const TimePoint first = BootClock::now();
  take(own, first + 5s, seat());
  own.ask(hold_in(seat(), "failed", "old"), first + 5s, connection);
  own.sent("failed");
  ASSERT_TRUE(own.renew("old", BootClock::now()));
  EXPECT_EQ(own.find("failed")->deadline, first + 5s);
  EXPECT_EQ(own.take_due(first + 5s).size(), 1U);
}

}  // namespace
}  // namespace lockset::zookeeper
