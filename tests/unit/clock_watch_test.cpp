#include "core/clock_watch.h"

#include <gtest/gtest.h>

#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

using test::at;

// SEM 20
TEST(ClockWatch, KeepsQuietWhileTheClocksAgree) {
  ClockWatch watch;
  EXPECT_FALSE(watch.observe({at(0s), at(1s), 5'000'000}, 50ms));
  // 10 s passed there; here it was between 9 s and 11 s.
  EXPECT_FALSE(watch.observe({at(10s), at(11s), 15'000'000}, 50ms));
}

// SEM 20
TEST(ClockWatch, FindsAStepAheadAndOneBack) {
  ClockWatch watch;
  EXPECT_FALSE(watch.observe({at(0s), at(0s), 0}, 1s));
  EXPECT_FALSE(watch.observe({at(10s), at(10s), 10'900'000}, 1s)) << "within the margin";
  EXPECT_EQ(watch.observe({at(20s), at(20s), 30'900'000}, 1s), Duration(10s));
  EXPECT_EQ(watch.observe({at(30s), at(30s), 20'900'000}, 1s), Duration(-20s));
  EXPECT_FALSE(watch.observe({at(40s), at(40s), 30'900'000}, 1s)) << "each step is told once";
}

}  // namespace
}  // namespace lockset
