#include "core/lease_state.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using Phase = LeaseState::Phase;

using test::at;

// SEM 10
TEST(LeaseState, TheMarginIsATenthBetween50MsAnd2S) {
  EXPECT_EQ(margin_of(100ms), 50ms);
  EXPECT_EQ(margin_of(1s), 100ms);
  EXPECT_EQ(margin_of(10s), 1s);
  EXPECT_EQ(margin_of(30s), 2s);
  EXPECT_EQ(margin_of(10min), 2s);
}

// SEM 10
TEST(LeaseState, ValidityCountsFromTheSendingOfTheRequest) {
  const LeaseState lease(at(100s), 30s);
  EXPECT_EQ(lease.valid_until(), at(128s));
  EXPECT_TRUE(lease.valid(at(128s - 1ns)));
  EXPECT_FALSE(lease.valid(at(128s)));
  EXPECT_EQ(lease.renew_at(), at(110s)) << "a third of the lease";
}

// SEM 10
TEST(LeaseState, ARenewalInTimeCountsFromItsSending) {
  LeaseState lease(at(0s), 30s);
  lease.renewed(at(10s), 30s, at(12s));
  EXPECT_EQ(lease.valid_until(), at(38s));
  EXPECT_EQ(lease.renew_at(), at(20s));
  EXPECT_EQ(lease.phase(), Phase::held);
}

// SEM 10: renew never resurrects
TEST(LeaseState, ARenewalConfirmedTooLateBringsNothingBack) {
  LeaseState lease(at(0s), 30s);
  lease.renewed(at(20s), 30s, at(28s));
  EXPECT_EQ(lease.phase(), Phase::lost);
  EXPECT_EQ(lease.lost_reason(), LostReason::expired);
  EXPECT_FALSE(lease.valid(at(28s)));
  EXPECT_FALSE(lease.valid(at(1s))) << "lost is lost, whatever the clock says";
  EXPECT_EQ(lease.renew_at(), TimePoint::max());
}

// SEM 10
TEST(LeaseState, AnswersThatOvertakeEachOtherNeverShortenIt) {
  LeaseState lease(at(0s), 30s);
  lease.renewed(at(20s), 30s, at(21s));
  lease.renewed(at(10s), 30s, at(22s));
  EXPECT_EQ(lease.valid_until(), at(48s));
}

TEST(LeaseState, DenialAndTimeLoseItOnce) {
  LeaseState denied(at(0s), 30s);
  denied.denied();
  EXPECT_EQ(denied.lost_reason(), LostReason::gone);
  denied.tick(at(100s));
  EXPECT_EQ(denied.lost_reason(), LostReason::gone) << "the first reason stands";

  LeaseState expired(at(0s), 30s);
  expired.tick(at(28s) - 1ns);
  EXPECT_EQ(expired.phase(), Phase::held);
  expired.tick(at(28s));
  EXPECT_EQ(expired.lost_reason(), LostReason::expired);
}

TEST(LeaseState, ReleaseTellsWhetherItWasStillValid) {
  LeaseState in_time(at(0s), 30s);
  EXPECT_TRUE(in_time.release(at(27s)));
  EXPECT_FALSE(in_time.valid(at(1s)));
  EXPECT_FALSE(in_time.release(at(27s))) << "once";
  in_time.denied();
  EXPECT_EQ(in_time.phase(), Phase::released) << "what was released is not lost";

  LeaseState late(at(0s), 30s);
  EXPECT_FALSE(late.release(at(28s)));
  EXPECT_EQ(late.lost_reason(), LostReason::expired);
}

// SEM 11
TEST(LeaseState, WithoutALeaseValidityHasNoEnd) {
  LeaseState lease(at(0s), 30s);
  lease.renewed(at(1s), Duration::max(), at(2s));
  EXPECT_EQ(lease.valid_until(), TimePoint::max());
  EXPECT_TRUE(lease.valid(at(24h * 10000)));
  lease.failed(at(24h));
  EXPECT_GT(lease.renew_at(), at(24h));
  lease.denied();
  EXPECT_FALSE(lease.valid(at(24h)));
}

TEST(LeaseState, AFailedRenewalIsTriedAgainBeforeTheEnd) {
  Random random(7);
  for (int run = 0; run < 2000; ++run) {
    const Duration lease = random.between(1s, 10min);
    LeaseState state(at(0s), lease);
    int tries = 0;
    while (state.phase() == Phase::held) {
      const TimePoint now = state.renew_at();
      ++tries;
      ASSERT_LT(tries, 1000) << "no hurry without bound";
      state.failed(now + random.between(0ms, 5ms));
    }
    EXPECT_GE(tries, 5) << format_duration(lease);
  }
}

}  // namespace
}  // namespace lockset
