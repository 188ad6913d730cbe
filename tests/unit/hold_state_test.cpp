// A hold as its holder shares it with the threads that renew and watch it: all of them keep to what
// one of them has said.
#include "core/hold_state.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "tests/support/manual_clock.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

// While another thread reads the clock, `meanwhile` is called once.
class MeetingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override {
    const TimePoint read = time.now();
    if (const auto call = std::exchange(meanwhile, nullptr)) call();
    return read;
  }
  test::ManualClock time;
  mutable std::function<void()> meanwhile;
};

class HoldStateTest : public ::testing::Test {
 protected:
  // With a lease of 10 s: valid for 9 s.
  std::unique_ptr<HoldState> made(std::shared_ptr<HoldState> app_hold = nullptr) {
    const LockSet set = LockSet::make({write("a")}).value();
    return std::make_unique<HoldState>(HoldState::Made{{set, {}, Token::random(), Stamp{1}},
                                                       {},
                                                       10s,
                                                       began_,
                                                       10s,
                                                       {},
                                                       std::move(app_hold),
                                                       LeaseClock(&clock_)});
  }

  MeetingClock clock_;
  const TimePoint began_ = clock_.time.now();
  const std::unique_ptr<HoldState> hold_ = made();
};

// SEM 29: the store may have ended it for the hold that takes its place
TEST_F(HoldStateTest, ADenialDuringAConversionCountsWhenItHasFailed) {
  hold_->begin_conversion(false);
  EXPECT_FALSE(hold_->denied());
  EXPECT_TRUE(hold_->valid());
  EXPECT_TRUE(hold_->end_conversion()) << "newly lost";
  EXPECT_FALSE(hold_->valid());
  EXPECT_EQ(hold_->lost_reason(), LostReason::gone);

  const auto converted = made();
  converted->begin_conversion(false);
  EXPECT_FALSE(converted->denied());
  EXPECT_TRUE(converted->release().was_held);
  EXPECT_EQ(converted->lost_reason(), LostReason::not_lost);

  const auto untouched = made();
  untouched->begin_conversion(false);
  EXPECT_FALSE(untouched->end_conversion());
  EXPECT_TRUE(untouched->valid());
  EXPECT_TRUE(untouched->denied()) << "from here on a denial counts at once";
  // An earlier one does not count again.
  const auto again = made();
  again->begin_conversion(false);
  EXPECT_FALSE(again->denied());
  again->begin_conversion(false);
  EXPECT_FALSE(again->end_conversion());
}

// The same answer would come again until the conversion has its own: no reason to ask all the time.
TEST_F(HoldStateTest, ADenialDuringAConversionPutsOffTheNextRenewal) {
  hold_->begin_conversion(false);
  clock_.time.set(began_ + 4s);
  ASSERT_LE(hold_->renew_at(), clock_.time.now());
  EXPECT_FALSE(hold_->denied());
  EXPECT_GT(hold_->renew_at(), clock_.time.now());
}

// SEM 30
TEST_F(HoldStateTest, WhatIsGivenUpIsInvalidMeanwhile) {
  hold_->begin_conversion(true);
  EXPECT_FALSE(hold_->valid());
  EXPECT_TRUE(hold_->unexpired()) << "it is renewed";
  EXPECT_FALSE(hold_->renewed(began_, 10s));
  EXPECT_FALSE(hold_->end_conversion());
  EXPECT_TRUE(hold_->valid());
  hold_->begin_conversion(true);
  clock_.time.set(began_ + 9s);
  EXPECT_TRUE(hold_->tick()) << "its end is noticed meanwhile";
  EXPECT_FALSE(hold_->end_conversion());
  EXPECT_FALSE(hold_->valid());
  EXPECT_EQ(hold_->lost_reason(), LostReason::expired);
}

// SEM 10, 20: the renewal was in time by its own reading of the clock, but the holder was told
// false by a later one
TEST_F(HoldStateTest, OnceFalseItStaysFalse) {
  clock_.time.set(began_ + 9s);
  EXPECT_FALSE(hold_->valid());
  clock_.time.set(began_ + 8s);
  EXPECT_TRUE(hold_->renewed(began_ + 7s, 10s)) << "newly lost";
  EXPECT_FALSE(hold_->valid());
  EXPECT_EQ(hold_->lost_reason(), LostReason::expired);
}

// SEM 10: valid() turns false between the check of what it has said and the new end
TEST_F(HoldStateTest, AlsoWhenItTurnsFalseDuringTheRenewal) {
  clock_.time.set(began_ + 8s);
  clock_.meanwhile = [&] {
    clock_.time.set(began_ + 9s);
    EXPECT_FALSE(hold_->valid());
    clock_.time.set(began_ + 8s);
  };
  EXPECT_TRUE(hold_->renewed(began_ + 7s, 10s)) << "newly lost";
  EXPECT_FALSE(hold_->valid());
  EXPECT_EQ(hold_->renew_at(), TimePoint::max()) << "nobody renews it any more";
  EXPECT_EQ(hold_->lost_reason(), LostReason::expired);
}

// SEM 9: a release reports the same as valid()
TEST_F(HoldStateTest, AReleaseAfterFalseFindsItLost) {
  clock_.time.set(began_ + 9s);
  EXPECT_FALSE(hold_->valid());
  clock_.time.set(began_ + 8s);
  const HoldState::Released released = hold_->release();
  EXPECT_FALSE(released.was_held);
  EXPECT_TRUE(released.newly_lost);
}

// SEM 10
TEST_F(HoldStateTest, ARenewalInTimeMovesTheEnd) {
  clock_.time.set(began_ + 8s);
  EXPECT_FALSE(hold_->renewed(began_ + 7s, 10s));
  clock_.time.set(began_ + 15s);
  EXPECT_TRUE(hold_->valid());
  EXPECT_EQ(hold_->valid_until(), began_ + 16s);
}

// SEM 12
TEST_F(HoldStateTest, WithoutItsApplicationItIsNotValid) {
  const std::shared_ptr<HoldState> app = made();
  const std::unique_ptr<HoldState> hold = made(app);
  EXPECT_TRUE(hold->valid());
  EXPECT_TRUE(app->denied());
  EXPECT_FALSE(hold->valid());
}

}  // namespace
}  // namespace lockset
