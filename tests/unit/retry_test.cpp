// SEM 14: when a call is repeated, and what is reported if it can't be.
#include "backends/server/retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/wait.h"

namespace lockset::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::in;

struct FakeLease {
  int* in_use;
  int* broken_ones;
  explicit FakeLease(int& use, int& broke) : in_use(&use), broken_ones(&broke) { ++*in_use; }
  FakeLease(FakeLease&& other) noexcept
      : in_use(std::exchange(other.in_use, nullptr)), broken_ones(other.broken_ones) {}
  FakeLease& operator=(FakeLease&&) = delete;
  ~FakeLease() {
    if (in_use != nullptr) --*in_use;
  }
  void broken() const { ++*broken_ones; }
};

class Retry : public ::testing::Test {
 protected:
  // The outcome of each attempt; the last one is used again and again. An answer is the attempt's
  // number.
  Result<int> call(Sent sent, std::initializer_list<Attempt> fate, TimePoint by = in(seconds(10))) {
    asked_ = 0;
    return call_with_retries(
        sent, by,
        [&]() -> Result<FakeLease> {
          ++taken_;
          EXPECT_EQ(in_use_, 0) << "kept a connection";
          if (refusal_) return *refusal_;
          return FakeLease(in_use_, broken_);
        },
        [&](FakeLease&, Attempt& attempt) -> Result<int> {
          const auto at = std::min<std::size_t>(asked_++, fate.size() - 1);
          attempt = fate.begin()[at];
          if (attempt == Attempt::last) return static_cast<int>(asked_);
          return Error{Errc::unavailable, std::to_string(asked_)};
        });
  }

  std::size_t asked_ = 0;
  int taken_ = 0;
  int in_use_ = 0;
  int broken_ = 0;
  std::optional<Error> refusal_;
};

TEST_F(Retry, AReadIsMadeThreeTimesOverBrokenConnections) {
  EXPECT_EQ(call(Sent::reading, {Attempt::broken, Attempt::broken, Attempt::last}).value(), 3);
  EXPECT_EQ(broken_, 2);
  const Result<int> failed = call(Sent::reading, {Attempt::broken});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "3");
  EXPECT_EQ(broken_, 5);
}

TEST_F(Retry, AChangeIsMadeOnceOverABrokenConnection) {
  EXPECT_FALSE(call(Sent::change, {Attempt::broken, Attempt::last}));
  EXPECT_EQ(asked_, 1U);
  EXPECT_EQ(broken_, 1);
}

TEST_F(Retry, AReadIsNotMadeAgainBehindItsDeadline) {
  EXPECT_FALSE(call(Sent::reading, {Attempt::broken, Attempt::last}, BootClock::now()));
  EXPECT_EQ(asked_, 1U);
}

TEST_F(Retry, AReadLooksForAConnectionThreeTimesAndAChangeOnce) {
  refusal_ = Error{Errc::unavailable, "down"};
  EXPECT_FALSE(call(Sent::reading, {Attempt::last}));
  EXPECT_EQ(taken_, 3);
  EXPECT_FALSE(call(Sent::change, {Attempt::last}));
  EXPECT_EQ(taken_, 4);
  refusal_ = Error{Errc::misconfigured, "wrong password"};
  EXPECT_FALSE(call(Sent::reading, {Attempt::last}));
  EXPECT_EQ(taken_, 5);
}

TEST_F(Retry, WhatCollidedIsMadeAgainWithoutEndAndKeepsNoConnectionMeanwhile) {
  using enum Attempt;
  EXPECT_EQ(call(Sent::change, {collided, collided, collided, collided, collided, last}).value(),
            6);
  EXPECT_EQ(broken_, 0);
}

TEST_F(Retry, WhatGoesOnCollidingEndsByItsDeadline) {
  const TimePoint by = in(milliseconds(300));
  const Result<int> failed = call(Sent::change, {Attempt::collided}, by);
  ASSERT_FALSE(failed);
  EXPECT_GE(BootClock::now(), by - milliseconds(64)) << "gave up before the longest pause";
  EXPECT_EQ(failed.error().message, std::to_string(asked_)) << "the last attempt's error";
}

TEST_F(Retry, APauseThatWouldLastBeyondTheDeadlineIsNotBegun) {
  EXPECT_FALSE(pause_after(1, BootClock::now()));
  EXPECT_TRUE(pause_after(2, in(seconds(10))));
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    if (!pause_after(40, in(milliseconds(2)))) ++refused;
  }
  // Each would pause for a random time of up to 64 ms.
  EXPECT_GT(refused, 25);
}

TEST(ServerErrors, AfterAChangeTheOutcomeIsInDoubt) {
  EXPECT_EQ(no_answer(Sent::nothing, "x", "").code, Errc::unavailable);
  EXPECT_EQ(no_answer(Sent::reading, "x", "").code, Errc::unavailable);
  EXPECT_EQ(no_answer(Sent::change, "x", "").code, Errc::indeterminate);
  EXPECT_EQ(unknown_answer(Sent::reading, "x", "").code, Errc::internal);
  EXPECT_EQ(unknown_answer(Sent::change, "x", "").code, Errc::indeterminate);
  EXPECT_EQ(unknown_answer(Sent::change, "the store", " (huh)").message,
            "the store: the server gave an unexpected answer; the change may or may not have been "
            "made (huh)");
}

}  // namespace
}  // namespace lockset::server
