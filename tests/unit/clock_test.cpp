#include "lockset/clock.h"

#include <gtest/gtest.h>

namespace lockset {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("30s").value(), 30s);
  EXPECT_EQ(parse_duration("5m").value(), 5min);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(parse_duration("1d").value(), 24h);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("7").value(), 7s) << "a bare number means seconds";
  EXPECT_EQ(parse_duration("0").value(), 0s);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("1d2h3m4s5ms").value(), 26h + 3min + 4005ms);
}

TEST(ParseDuration, RefusesWhatIsNone) {
  for (const char* text :
       {"", "s", "-1s", "1 s", "1x", "1e3s", "inf", "nan", "0x10s", "99999999999d", "1s2", "1h-2m",
        "30m1h", "1m1m", "1h30", "30sec", "99999999999"}) {
    const Result<Duration> parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::invalid) << text;
  }
}

TEST(ParseDuration, GuessesWhatWasMeant) {
  EXPECT_NE(parse_duration("30sec").error().message.find("did you mean 30s?"), std::string::npos);
  EXPECT_NE(parse_duration("1h5min").error().message.find("did you mean 1h5m?"), std::string::npos);
  EXPECT_EQ(parse_duration("3x").error().message.find("did you mean"), std::string::npos);
}

TEST(FormatDuration, IsReadBackTheSame) {
  for (const Duration duration : {Duration(1ms), Duration(250ms), Duration(30s), Duration(90s),
                                  Duration(5min), Duration(2h), Duration(24h), Duration(0s)}) {
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration)
        << format_duration(duration);
  }
  EXPECT_EQ(format_duration(30s), "30s");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
}

TEST(BootClock, NeverGoesBack) {
  TimePoint last = BootClock::now();
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = BootClock::now();
    ASSERT_LE(last, now);
    last = now;
  }
}

}  // namespace
}  // namespace lockset
