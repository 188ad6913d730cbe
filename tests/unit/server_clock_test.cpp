#include "backends/server/server_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset::server {
namespace {

using ::testing::HasSubstr;
using Level = Finding::Level;

constexpr std::int64_t s = 1'000'000;

TEST(ServerClock, TwoSecondsAreWellAndMoreAreAWarning) {
  EXPECT_EQ(examine_clock(100 * s, 100 * s, 100 * s).level, Level::good);
  EXPECT_EQ(examine_clock(102 * s, 100 * s, 100 * s).level, Level::good);
  EXPECT_EQ(examine_clock(98 * s, 100 * s, 100 * s).level, Level::good);
  const Finding ahead = examine_clock(103 * s, 100 * s, 100 * s);
  EXPECT_EQ(ahead.level, Level::warning);
  EXPECT_EQ(ahead.subject, "clock");
  EXPECT_THAT(ahead.text, HasSubstr("3s ahead of"));
  const Finding behind = examine_clock(40 * s, 100 * s, 100 * s);
  EXPECT_EQ(behind.level, Level::warning);
  EXPECT_THAT(behind.text, HasSubstr("1m behind"));
}

// A slow answer is no wrong clock.
TEST(ServerClock, WhatTheQuestionTookIsNoDifference) {
  EXPECT_EQ(examine_clock(100 * s, 100 * s, 110 * s).level, Level::good);
  EXPECT_EQ(examine_clock(110 * s, 100 * s, 110 * s).level, Level::good);
  EXPECT_EQ(examine_clock(113 * s, 100 * s, 110 * s).level, Level::warning);
  EXPECT_EQ(examine_clock(97 * s, 100 * s, 110 * s).level, Level::warning);
}

}  // namespace
}  // namespace lockset::server
