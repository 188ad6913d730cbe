// What a client knows of the server's clock, which counts whole seconds and may stand still.
#include <gtest/gtest.h>

#include "backends/memcached/server_time.h"
#include "tests/support/wait.h"

namespace lockset::memcached {
namespace {

using namespace std::chrono_literals;

// The server's clock began when the machine started: both show the same.
TimePoint at(Duration since_boot) { return test::at(since_boot); }
std::int64_t in_us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

TEST(Ticks, WithoutATickThereIsNoUpperBound) {
  Ticks ticks;
  EXPECT_FALSE(ticks.at(at(100s)));
  ticks.saw("p", 100, at(100'200ms), at(100'201ms));
  ticks.saw("p", 100, at(100'900ms), at(100'901ms));
  EXPECT_FALSE(ticks.at(at(100'901ms)));
}

TEST(Ticks, ATickBoundsTheTimeFromBothSides) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'990ms), at(100'991ms));
  ticks.saw("p", 101, at(101'002ms), at(101'003ms));
  const Moment moment = ticks.at(at(101'500ms)).value();
  EXPECT_EQ(moment.lower_us, in_us(101s));
  EXPECT_GE(moment.upper_us, in_us(101'500ms));
  // When it ticked, less than a second of 101 had passed.
  EXPECT_LE(moment.upper_us, in_us(102'600ms));
}

// A server that was stopped for a minute answers with the time of before.
TEST(Ticks, AnOldReadingNeverMakesTheBoundTooLow) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'500ms), at(160'000ms));
  ticks.saw("p", 100, at(160'001ms), at(160'002ms));
  EXPECT_FALSE(ticks.at(at(160'002ms)));
  ticks.saw("p", 160, at(160'010ms), at(160'011ms));
  EXPECT_GE(ticks.at(at(160'011ms)).value().upper_us, in_us(160'011ms));
}

TEST(Ticks, AnotherProcessHasAnotherClock) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'990ms), at(100'991ms));
  ticks.saw("p", 101, at(101'002ms), at(101'003ms));
  ticks.saw("q", 500, at(101'102ms), at(101'103ms));
  EXPECT_FALSE(ticks.at(at(101'200ms)));
}

TEST(Ticks, ABoundGrowsOldAndEnds) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'990ms), at(100'991ms));
  ticks.saw("p", 101, at(101'002ms), at(101'003ms));
  const Moment early = ticks.at(at(102s)).value();
  const Moment late = ticks.at(at(202s)).value();
  EXPECT_GT(late.upper_us - early.upper_us, in_us(100s)) << "clocks drift";
  EXPECT_FALSE(ticks.at(at(302s)));
}

// Two readings far from each other say little: the tick may have been just after the first.
TEST(Ticks, ReadingsFarApartAreNoTick) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'100ms), at(100'101ms));
  ticks.saw("p", 105, at(105'100ms), at(105'101ms));
  EXPECT_FALSE(ticks.at(at(105'200ms)));
}

TEST(Ticks, WhoWasOvertakenChangesNothing) {
  Ticks ticks;
  ticks.saw("p", 100, at(100'990ms), at(100'991ms));
  ticks.saw("p", 101, at(101'002ms), at(101'003ms));
  ticks.saw("p", 100, at(100'500ms), at(101'004ms));
  EXPECT_EQ(ticks.at(at(101'500ms)).value().lower_us, in_us(101s));
}

}  // namespace
}  // namespace lockset::memcached
