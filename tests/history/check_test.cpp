// Common to all invariants: counts, runs that show nothing, histories that make no sense.
#include "history/text.h"
#include "tests/history/story.h"

namespace lockset::history {
namespace {

TEST(Check, AnEmptyRunHasShownNothing) {
  const Report report = Story().check();
  ASSERT_EQ(report.vacuous.size(), 1U);
  EXPECT_EQ(report.vacuous[0], "only 0 grants, expected 1 at least");
  EXPECT_FALSE(report.kept());
}

Story run() {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 50, 60).hold("p", 2, 20, {w("a")}, 70, 71, 800);
  story.ask("q", 1, 20, {w("a")}).add("q", 30, Busy{1, "a", Stamp{10}});
  story.ask("q", 2, 100, {w("b")}).add("q", 101, Unknown{2});
  story.ask("q", 3, 102, {w("b")}).add("q", 103, Refused{3});
  story.ask("q", 4, 104, {w("c")}).add("q", 105, TimedOut{4});
  story.add("c", 200, Kill{"p"}).add("c", 201, Stop{"q"}).add("c", 202, Cont{"q"});
  return story.add("c", 203, FaultBegin{"cut"}).add("c", 204, FaultEnd{"cut"}).add("c", 300, End{});
}

TEST(Check, CountsWhatHappened) {
  const Report report = run().check();
  EXPECT_TRUE(report.kept());
  EXPECT_EQ(report.counts.operations, 6U);
  EXPECT_EQ(report.counts.grants, 2U);
  EXPECT_EQ(report.counts.overlaps, 2U);
  EXPECT_EQ(report.counts.busy, 1U);
  EXPECT_EQ(report.counts.spurious_busy, 0U);
  EXPECT_EQ(report.counts.unknown, 1U);
  EXPECT_EQ(report.counts.refused, 1U);
  EXPECT_EQ(report.counts.timeouts, 1U);
  EXPECT_EQ(report.counts.kills, 1U);
  EXPECT_EQ(report.counts.stops, 1U);
  EXPECT_EQ(report.counts.faults, 1U);
  EXPECT_EQ(report.counts.wakeups, 0U);
  EXPECT_EQ(report.counts.ends, 1U);
  EXPECT_EQ(report.counts.longest_without_grant, std::chrono::milliseconds(70));
}

TEST(Check, WhatTheRunExpectsOfItselfHasToBeThere) {
  EXPECT_TRUE(run().add("c", 0, Expect{2, 2, 1, 3, 0, 1}).check().kept());
  const auto short_of = [](Expect expect) { return run().add("c", 0, expect).check().vacuous; };
  EXPECT_EQ(short_of({3, 0, 0, 0}).at(0), "only 2 grants, expected 3 at least");
  EXPECT_EQ(short_of({0, 3, 0, 0}).at(0), "only 2 overlaps, expected 3 at least");
  EXPECT_EQ(short_of({0, 0, 2, 0}).at(0), "only 1 busy answers, expected 2 at least");
  EXPECT_EQ(short_of({0, 0, 0, 4}).at(0), "only 3 faults, expected 4 at least");
  EXPECT_EQ(short_of({.wakeups = 1}).at(0), "only 0 wake-ups, expected 1 at least");
  EXPECT_EQ(short_of({.ends = 2}).at(0), "only 1 looks at the end, expected 2 at least");
}

TEST(Check, TellsNoMoreThanAFewOfEachAndCountsAll) {
  Story story;
  for (int i = 0; i < 20; ++i) {
    story.had("p", static_cast<std::uint64_t>(i), 100 - i, {w("a")}, 4 * i, 4 * i + 1, 4 * i + 2,
              4 * i + 3);
  }
  const Report report = story.check();
  EXPECT_EQ(report.found_of(Invariant::fencing), 19U);
  EXPECT_EQ(report.violations.size(), Rules().most_told);
}

std::string complaint(const Story& story) {
  const Result<Report> report = check(story.history(), {});
  return report ? "" : report.error().message;
}

TEST(Check, WhatMakesNoSenseIsNamedWithItsLine) {
  EXPECT_EQ(complaint(Story().add("p", 1, Granted{1, Stamp{1}, ms(9), {}})),
            "the history makes no sense in line 2 of \"p\": op=1 was never asked");
  EXPECT_NE(complaint(Story().ask("p", 1, 1, {w("a")}).ask("p", 1, 2, {w("a")}))
                .find("line 3 of \"p\": op=1 is there twice"),
            std::string::npos);
  const Story answered = Story().ask("p", 1, 1, {w("a")}).add("p", 2, Refused{1});
  EXPECT_NE(complaint(Story(answered).add("p", 3, Unknown{1})).find("answered before"),
            std::string::npos);
  const Story held = Story().hold("p", 1, 10, {w("a")}, 1, 2, 3);
  EXPECT_NE(complaint(Story(held).add("p", 3, Released{Stamp{10}})).find("without a question"),
            std::string::npos);
  EXPECT_NE(
      complaint(Story(held).add("p", 3, Renewed{Stamp{10}, ms(4)})).find("without a question"),
      std::string::npos);
  EXPECT_NE(complaint(Story().add("p", 3, SeenEnd{})).find("without seen_begin"),
            std::string::npos);
  EXPECT_NE(complaint(Story().add("p", 3, FaultEnd{"x"})).find("did not begin"), std::string::npos);
  EXPECT_NE(complaint(Story().add("p", 3, PermitsEnd{"a", 1, 1})).find("did not begin"),
            std::string::npos);
}

TEST(Check, AnOutcomeThatWasUnknownMayTurnOutAGrant) {
  Story story;
  story.ask("p", 1, 1, {w("a")}).add("p", 2, Unknown{1});
  story.add("p", 5, Granted{1, Stamp{10}, ms(900), {}}).release("p", 10, 20, 21);
  const Report report = story.check();
  EXPECT_TRUE(report.kept());
  EXPECT_EQ(report.counts.grants, 1U);
  EXPECT_EQ(report.counts.unknown, 0U);
}

TEST(Check, TwoLogsOfOneProcessAreRefused) {
  EXPECT_FALSE(check({Log{"x", "p", {}}, Log{"y", "p", {}}}, {}).ok());
  EXPECT_TRUE(check({Log{"x", "", {}}, Log{"y", "", {}}}, {}).ok()) << "both cut at once";
}

}  // namespace
}  // namespace lockset::history
