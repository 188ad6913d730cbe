#include "core/acquire_loop.h"

#include <gtest/gtest.h>

#include "lockset/lock_set.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

using test::at;

class AcquireLoopTest : public ::testing::Test {
 protected:
  AcquireLoop loop(AcquireLoop::Settings settings) {
    return {settings, random_, [this] {
              Token token;
              token.bytes[0] = ++tokens_;
              return token;
            }};
  }
  static AcquireLoop::Settings single_try() {
    AcquireLoop::Settings settings;
    settings.single_try = true;
    return settings;
  }
  static AcquireLoop::Settings waiting(TimePoint deadline, Duration patience = 15s) {
    AcquireLoop::Settings settings;
    settings.deadline = deadline;
    settings.patience = patience;
    settings.push_wakeup = true;
    return settings;
  }
  static Result<AcquireOutcome> grant(std::int64_t stamp, Duration lease = 30s) {
    return AcquireOutcome(Grant{Stamp{stamp}, lease, 0, {}});
  }
  static Result<AcquireOutcome> busy(std::optional<Duration> retry_after = {}) {
    return AcquireOutcome(Busy{"a", Mode::write, Stamp{1}, "somebody", retry_after, {}});
  }
  static Result<AcquireOutcome> changed(std::int64_t stamp) {
    return AcquireOutcome(Changed{0, {.last_write = Stamp{stamp}}});
  }
  static Result<AcquireOutcome> fails(Errc code) { return Error{code, "trouble"}; }

  template <class T, class Variant>
  static T expect(const Variant& variant) {
    EXPECT_TRUE(std::holds_alternative<T>(variant)) << "index " << variant.index();
    return std::holds_alternative<T>(variant) ? std::get<T>(variant) : T{};
  }
  static Errc error_code(const AcquireLoop::Action& action) {
    return expect<Error>(expect<AcquireLoop::Finish>(action)).code;
  }
  static Stamp granted(const AcquireLoop::Action& action) {
    return expect<AcquireLoop::Granted>(expect<AcquireLoop::Finish>(action)).grant.stamp;
  }

  std::uint8_t tokens_ = 0;
  Random random_{1};
};

TEST_F(AcquireLoopTest, OneTryThatIsGranted) {
  auto l = loop(single_try());
  expect<AcquireLoop::Attempt>(l.begin(at(0s)));
  const auto action = l.attempted(grant(5), at(1s));
  EXPECT_EQ(granted(action), Stamp{5});
  EXPECT_EQ(std::get<AcquireLoop::Granted>(std::get<AcquireLoop::Finish>(action)).sent, at(0s));
}

// SEM 14
TEST_F(AcquireLoopTest, ContentionOfOneTryIsNoError) {
  auto l = loop(single_try());
  l.begin(at(0s));
  expect<AcquireLoop::Contended>(expect<AcquireLoop::Finish>(l.attempted(busy(), at(1ms))));
}

// SEM 7
TEST_F(AcquireLoopTest, AStaleConfigurationIsTriedAgainWithAFreshToken) {
  auto l = loop(single_try());
  const Token first = expect<AcquireLoop::Attempt>(l.begin(at(0s))).token;
  const Token second =
      expect<AcquireLoop::Attempt>(l.attempted(AcquireOutcome(Stale{}), at(1ms))).token;
  EXPECT_NE(first, second);
  EXPECT_EQ(granted(l.attempted(grant(5), at(2ms))), Stamp{5});
}

TEST_F(AcquireLoopTest, AConfigurationThatNeverRestsEndsTheTry) {
  auto l = loop(single_try());
  AcquireLoop::Action action = l.begin(at(0s));
  int tries = 0;
  while (std::holds_alternative<AcquireLoop::Attempt>(action)) {
    ASSERT_LT(++tries, 5000);
    action = l.attempted(AcquireOutcome(Stale{}), at(1ms));
  }
  EXPECT_EQ(error_code(action), Errc::unavailable);
}

// A try has one patience in total: it ends even if the store hardly answers and the configuration
// keeps changing.
TEST_F(AcquireLoopTest, AStaleConfigurationDoesNotRenewThePatienceOfATry) {
  auto l = loop(single_try());
  l.begin(at(0s));
  expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(1s)));
  expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(2s)));
  expect<AcquireLoop::Attempt>(l.attempted(AcquireOutcome(Stale{}), at(3s)));
  EXPECT_EQ(error_code(l.attempted(fails(Errc::indeterminate), at(4s))), Errc::indeterminate);
}

// SEM 13: the store wakes who stands in line, so many waiters need not poll soon
TEST_F(AcquireLoopTest, WhoStandsInLinePollsLater) {
  const auto first_poll = [&](bool queued, std::shared_ptr<WaitTicket> ticket) {
    auto settings = waiting(TimePoint::max());
    settings.queued_wakeup = queued;
    auto l = loop(settings);
    l.begin(at(0s));
    auto answer = busy();
    std::get<Busy>(*answer).ticket = std::move(ticket);
    return expect<AcquireLoop::Wait>(l.attempted(std::move(answer), at(0s))).until;
  };
  const auto ticket = std::make_shared<WaitTicket>();
  EXPECT_GE(first_poll(true, ticket), at(1500ms));
  EXPECT_LE(first_poll(true, ticket), at(2500ms));
  EXPECT_LE(first_poll(true, nullptr), at(320ms));  // it has no place in the line
  EXPECT_LE(first_poll(false, ticket), at(320ms));
}

// SEM 28: a broken condition never mends
TEST_F(AcquireLoopTest, ABrokenConditionEndsAWait) {
  auto l = loop(waiting(TimePoint::max()));
  l.begin(at(0s));
  const auto wait = expect<AcquireLoop::Wait>(l.attempted(busy(), at(1ms)));
  expect<AcquireLoop::Attempt>(l.waited(wait.until));
  const auto end = expect<AcquireLoop::Finish>(l.attempted(changed(7), wait.until));
  EXPECT_EQ(expect<Changed>(end).trace.last_write, Stamp{7});
  EXPECT_TRUE(l.doubts().empty());
}

// SEM 28: never because of an own grant, so all doubts are looked up
TEST_F(AcquireLoopTest, ABrokenConditionIsBelievedOnceAllDoubtsAreLookedUp) {
  auto l = loop(waiting(TimePoint::max()));
  const Token first = expect<AcquireLoop::Attempt>(l.begin(at(0s))).token;
  expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(1s)));
  const Token second =
      expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(1s))).token;
  const auto pause = expect<AcquireLoop::Wait>(l.attempted(fails(Errc::indeterminate), at(1s)));
  expect<AcquireLoop::Resolve>(l.waited(pause.until));
  expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(2s)));

  const Token one = expect<AcquireLoop::Resolve>(l.attempted(changed(7), at(2s))).token;
  // A question without an answer is asked again.
  const auto again =
      expect<AcquireLoop::Resolve>(l.resolved(Error{Errc::unavailable, "trouble"}, at(2s)));
  const Token other =
      expect<AcquireLoop::Resolve>(l.resolved(std::optional<Grant>(), at(2s))).token;
  EXPECT_NE(again.token, other);
  EXPECT_TRUE((one == first || one == second) && (other == first || other == second));
  const auto end = expect<AcquireLoop::Finish>(l.resolved(std::optional<Grant>(), at(2s)));
  EXPECT_EQ(expect<Changed>(end).trace.last_write, Stamp{7});
  EXPECT_EQ(l.doubts().size(), 2U);
}

TEST_F(AcquireLoopTest, AnOwnGrantBehindABrokenConditionIsTheAnswer) {
  auto l = loop(single_try());
  l.begin(at(0s));
  expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(1s)));
  expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(1s)));
  expect<AcquireLoop::Resolve>(l.attempted(changed(5), at(1s)));
  EXPECT_EQ(granted(l.resolved(std::optional(Grant{Stamp{5}, 30s, 0, {}}), at(1s))), Stamp{5});
}

// SEM 29: an own earlier attempt may have taken the place of the hold
TEST_F(AcquireLoopTest, AHoldThatIsGoneIsBelievedOnceAllDoubtsAreLookedUp) {
  auto sure = loop(single_try());
  sure.begin(at(0s));
  expect<Gone>(expect<AcquireLoop::Finish>(sure.attempted(AcquireOutcome(Gone{}), at(1s))));
  for (const bool found : {true, false}) {
    auto l = loop(single_try());
    const Token first = expect<AcquireLoop::Attempt>(l.begin(at(0s))).token;
    expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(1s)));
    expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(1s)));
    EXPECT_EQ(expect<AcquireLoop::Resolve>(l.attempted(AcquireOutcome(Gone{}), at(1s))).token,
              first);
    const auto own = found ? std::optional(Grant{Stamp{5}, 30s, 0, {}}) : std::nullopt;
    const auto end = l.resolved(own, at(1s));
    if (found) {
      EXPECT_EQ(granted(end), Stamp{5});
    } else {
      expect<Gone>(expect<AcquireLoop::Finish>(end));
    }
  }
}

// SEM 13
TEST_F(AcquireLoopTest, PollsMoreSeldomTheLongerItWaitsAndWithinABound) {
  auto l = loop(waiting(TimePoint::max()));
  l.begin(at(0s));
  TimePoint now = at(0s);
  Duration last{};
  for (int i = 0; i < 40; ++i) {
    const auto wait = expect<AcquireLoop::Wait>(l.attempted(busy(), now));
    EXPECT_TRUE(wait.for_change);
    const Duration pause = wait.until - now;
    EXPECT_GE(pause, 187ms);
    EXPECT_LE(pause, 6250ms);
    last = pause;
    now = wait.until;
    expect<AcquireLoop::Attempt>(l.waited(now));
  }
  EXPECT_GE(last, 3750ms);
}

// SEM 13: nobody announces an expiry
TEST_F(AcquireLoopTest, LooksAgainWhenTheFirstLeaseInTheWayEnds) {
  auto l = loop(waiting(TimePoint::max()));
  l.begin(at(0s));
  const auto wait = expect<AcquireLoop::Wait>(l.attempted(busy(Duration(40ms)), at(0s)));
  EXPECT_GT(wait.until, at(40ms));
  EXPECT_LE(wait.until, at(65ms));
}

// SEM 13
TEST_F(AcquireLoopTest, TriesOnceMoreAtTheDeadlineAndThenGivesUp) {
  auto l = loop(waiting(at(100ms)));
  l.begin(at(0s));
  const auto wait = expect<AcquireLoop::Wait>(l.attempted(busy(), at(0s)));
  EXPECT_EQ(wait.until, at(100ms));
  expect<AcquireLoop::Attempt>(l.waited(at(100ms)));
  EXPECT_EQ(error_code(l.attempted(busy(), at(101ms))), Errc::timeout);
}

// SEM 14
TEST_F(AcquireLoopTest, ALostReplyIsLookedUpAndAdopted) {
  auto l = loop(single_try());
  const Token token = expect<AcquireLoop::Attempt>(l.begin(at(0s))).token;
  const auto question =
      expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(5s)));
  EXPECT_EQ(question.token, token);
  const auto action = l.resolved(std::optional(Grant{Stamp{9}, 25s, 0, {}}), at(6s));
  EXPECT_EQ(granted(action), Stamp{9});
  EXPECT_EQ(std::get<AcquireLoop::Granted>(std::get<AcquireLoop::Finish>(action)).sent, at(5s))
      << "what was left was read after the question was sent";
  EXPECT_TRUE(l.doubts().empty());
}

// SEM 14: the request may still arrive
TEST_F(AcquireLoopTest, AnAttemptThatIsNotThereStaysInDoubt) {
  auto l = loop(waiting(TimePoint::max()));
  const Token first = expect<AcquireLoop::Attempt>(l.begin(at(0s))).token;
  l.attempted(fails(Errc::indeterminate), at(5s));
  expect<AcquireLoop::Attempt>(l.resolved(std::optional<Grant>(), at(6s)));
  // Its ghost may be in the way: it is looked up before each further try.
  const auto wait = expect<AcquireLoop::Wait>(l.attempted(busy(), at(7s)));
  EXPECT_EQ(expect<AcquireLoop::Resolve>(l.waited(wait.until)).token, first);
  EXPECT_EQ(granted(l.resolved(std::optional(Grant{Stamp{9}, 20s, 0, {}}), at(8s))), Stamp{9});
}

// SEM 14: never a reported success, never "certainly not applied" for a possible grant
TEST_F(AcquireLoopTest, WhatStaysUnknownIsIndeterminate) {
  auto l = loop(single_try());
  l.begin(at(0s));
  expect<AcquireLoop::Resolve>(l.attempted(fails(Errc::indeterminate), at(5s)));
  EXPECT_EQ(error_code(l.resolved(Error{Errc::unavailable, "down"}, at(10s))), Errc::indeterminate);
  EXPECT_EQ(l.doubts().size(), 1U) << "left for the background";
}

TEST_F(AcquireLoopTest, OneTryLooksTwiceAtAStoreInTrouble) {
  auto l = loop(single_try());
  l.begin(at(0s));
  expect<AcquireLoop::Attempt>(l.attempted(fails(Errc::unavailable), at(1ms)));
  EXPECT_EQ(error_code(l.attempted(fails(Errc::unavailable), at(2ms))), Errc::unavailable);
}

TEST_F(AcquireLoopTest, AWaitBearsTroubleForItsPatienceAndNoLonger) {
  auto l = loop(waiting(TimePoint::max(), 15s));
  AcquireLoop::Action action = l.begin(at(0s));
  TimePoint now = at(0s);
  int tries = 0;
  while (!std::holds_alternative<AcquireLoop::Finish>(action)) {
    if (const auto* wait = std::get_if<AcquireLoop::Wait>(&action)) {
      EXPECT_FALSE(wait->for_change);
      now = wait->until;
      action = l.waited(now);
    } else {
      ++tries;
      ASSERT_LT(tries, 200);
      action = l.attempted(fails(Errc::unavailable), now);
    }
  }
  EXPECT_EQ(error_code(action), Errc::unavailable);
  EXPECT_GE(now, at(15s));
  EXPECT_LE(now, at(17s));
}

TEST_F(AcquireLoopTest, TroubleThatPassesIsForgotten) {
  auto l = loop(waiting(TimePoint::max(), 15s));
  l.begin(at(0s));
  l.attempted(fails(Errc::unavailable), at(0s));
  expect<AcquireLoop::Wait>(l.attempted(fails(Errc::unavailable), at(14s)));
  l.waited(at(14500ms));
  expect<AcquireLoop::Wait>(l.attempted(busy(), at(14600ms)));
  l.waited(at(20s));
  expect<AcquireLoop::Attempt>(l.attempted(fails(Errc::unavailable), at(20s)));
}

TEST_F(AcquireLoopTest, MistakesEndTheLoopAtOnce) {
  for (const Errc code :
       {Errc::invalid, Errc::misconfigured, Errc::unsupported, Errc::internal, Errc::rolled_back}) {
    auto l = loop(waiting(TimePoint::max()));
    l.begin(at(0s));
    EXPECT_EQ(error_code(l.attempted(fails(code), at(0s))), code);
  }
}

// SEM 10
TEST_F(AcquireLoopTest, AGrantThatCameAfterItsLeaseIsGivenBack) {
  auto l = loop(single_try());
  l.begin(at(0s));
  EXPECT_EQ(expect<AcquireLoop::Discard>(l.attempted(grant(5, 1s), at(900ms))).stamp, Stamp{5});
  expect<AcquireLoop::Attempt>(l.discarded(at(901ms)));
  EXPECT_EQ(expect<AcquireLoop::Discard>(l.attempted(grant(6, 1s), at(2s))).stamp, Stamp{6});
  EXPECT_EQ(error_code(l.discarded(at(2s))), Errc::unavailable) << "no endless loop";
}

TEST_F(AcquireLoopTest, CancellationEndsIt) {
  auto l = loop(waiting(TimePoint::max()));
  l.begin(at(0s));
  l.attempted(busy(), at(0s));
  EXPECT_EQ(error_code(l.stopped()), Errc::cancelled);
}

}  // namespace
}  // namespace lockset
