#include "benchmarks/report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "benchmarks/report/numbers.h"

namespace lockset::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json small_sample() {
  std::ifstream file(LOCKSET_BENCH_SAMPLE);
  return Json::parse(file);
}

TEST(Numbers, FitTheirUnit) {
  EXPECT_EQ(duration(0.4521), "0.45 us");
  EXPECT_EQ(duration(9.996), "10.0 us");
  EXPECT_EQ(duration(340.4), "340 us");
  EXPECT_EQ(duration(999.6), "1.00 ms");
  EXPECT_EQ(duration(1234.5), "1.23 ms");
  EXPECT_EQ(duration(12.1e6), "12.1 s");
  EXPECT_EQ(rate(3.44), "3.4");
  EXPECT_EQ(rate(1234567.8), "1,234,568");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(spread({0.81, 0.78, 0.84}, Unit::share), "0.81 [0.78-0.84]");
  EXPECT_EQ(spread({0.0134, 0.01, 0.02}, Unit::percent), "1.34% [1.00-2.00]");
  EXPECT_EQ(spread({1.25, {}, {}}, Unit::times), "1.25x");
  EXPECT_EQ(spread({31.52, 9.9, 40}, Unit::milliseconds), "31.5 ms [9.90-40.0]");
  EXPECT_EQ(spread({1480, 990, 2041}, Unit::milliseconds), "1.48 s [0.99-2.04]");
  EXPECT_EQ(spread({0.85, 0.8, 1.1}, Unit::milliseconds), "850 us [800-1100]");
  EXPECT_EQ(number(2100, Unit::milliseconds), "2.10 s");
  EXPECT_EQ(bound(100, Unit::milliseconds), "100 ms");
  EXPECT_EQ(bound(2000, Unit::milliseconds), "2 s");
  EXPECT_EQ(bound(2, Unit::times), "2x");
  EXPECT_EQ(bound(0.45, Unit::share), "0.45");
  EXPECT_EQ(bound(0.01, Unit::percent), "1%");
}

TEST(Terminal, ShowsEachWorkload) {
  const std::string text = terminal_report(small_sample());
  for (const std::string part : {"One client, one name",
                                 "Clients on names of their own",
                                 "sets of 1 to 64 names",
                                 "95 % of the locks are reads",
                                 "2 to 200 clients on one name",
                                 "others' live holds fill",
                                 "renews its holds",
                                 "kill -9",
                                 "Promises: what must be",
                                 "P1 ",
                                 "P8 ",
                                 "pg_advisory_lock",
                                 "a writer among 8",
                                 "lockset, writer",
                                 "lockset run",
                                 "P10 kill -9 of lockset run",
                                 "lockset, processes",
                                 "lockset, threads",
                                 "0.83 [0.81-0.85]",
                                 "SQLite 3.40.1",
                                 "can't connect to 127.0.0.1:1: Connection refused",
                                 "postgresql serializable  "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Terminal, IsNoWiderThanAHundredColumnsAndTame) {
  std::istringstream lines(terminal_report(small_sample()));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20U) << line;
  }
}

TEST(Terminal, SaysThatItWasInterrupted) {
  Json json = small_sample();
  EXPECT_THAT(terminal_report(json), HasSubstr("INTERRUPTED"));
  json["interrupted"] = false;
  EXPECT_THAT(terminal_report(json), Not(HasSubstr("nterrupted")));
}

TEST(Terminal, MarksVerdictsOfFewTurns) {
  EXPECT_THAT(terminal_report(small_sample()), HasSubstr("must*"));
}

TEST(Terminal, LeavesOutWhatWasNotMeasured) {
  const Json json = {{"lockset", "0.1.0"}, {"measurements", Json::array()}};
  const std::string text = terminal_report(json);
  EXPECT_THAT(text, Not(HasSubstr("One client, one name")));
  EXPECT_THAT(text, Not(HasSubstr("Promises")));
  EXPECT_THAT(text, Not(HasSubstr("Spaces")));
}

TEST(Terminal, RefusesWhatIsNoRun) {
  EXPECT_THROW((void)terminal_report(Json::object()), std::runtime_error);
}

}  // namespace
}  // namespace lockset::bench
