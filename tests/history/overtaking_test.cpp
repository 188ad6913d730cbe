// I7: SEM 13
#include "tests/history/story.h"

namespace lockset::history {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// p waits for `wanted` from 1000 on, and gets it at 9000; n gets `taken` `times` times meanwhile,
// each time asking at `first` + 100 * i. At most two may come before p.
Story overtaken(const std::vector<Wish>& wanted, const std::vector<Wish>& taken, int times,
                std::int64_t first = 1101) {
  Story story;
  story.add("c", 0, Bounded{2});
  story.ask("p", 1, 1000, wanted, seconds(60)).add("p", 9000, Granted{1, Stamp{99}, ms(9900), {}});
  for (int i = 0; i < times; ++i) {
    const std::int64_t at = first + 100 * i;
    story.had("n", static_cast<std::uint64_t>(i), 10 + i, taken, at, at + 1, at + 2, at + 3);
  }
  return story;
}

TEST(Overtaking, UpToTheBoundIsKept) {
  const Report report = overtaken({w("a")}, {w("a")}, 2).check();
  expect_kept(report);
  EXPECT_EQ(report.counts.waits, 1U);
  EXPECT_EQ(report.counts.overtaken, 0U);
}

TEST(Overtaking, MoreOftenIsNot) {
  const Report report = overtaken({w("a")}, {w("a")}, 5).check();
  expect_only(report, Invariant::liveness, "was overtaken 5 times, where at most 2 are promised");
  EXPECT_EQ(report.counts.overtaken, 1U);
  expect_only(overtaken({w("a")}, {w("a")}, 3).check(), Invariant::liveness, "overtaken 3 times");
}

// SEM 29, 30
TEST(Overtaking, AnUpgradeCountsAndADowngradeDoesNot) {
  Story story = overtaken({w("a")}, {w("a")}, 2, 2001);
  story.hold("m", 1, 5, {w("a")}, 900, 901, 1900);
  story.ask("m", 2, 1300, {r("a")}).add("m", 1300, Replace{2, Stamp{5}});
  story.add("m", 1301, Granted{2, Stamp{6}, ms(1900), {}});
  expect_kept(Story(story).release("m", 6, 1310, 1311).check());
  story.ask("m", 3, 1310, {w("a")}).add("m", 1310, Replace{3, Stamp{6}});
  story.add("m", 1311, Granted{3, Stamp{7}, ms(1900), {}}).release("m", 7, 1320, 1321);
  expect_only(story.check(), Invariant::liveness, "overtaken 3 times");
}

TEST(Overtaking, OfASetIsCountedOverAllItsNamesAndOnceForEach) {
  Story story = overtaken({w("a"), w("b")}, {w("a")}, 2);
  expect_kept(Story(story).had("m", 1, 50, {w("c")}, 3000, 3001, 3002, 3003).check());
  expect_only(story.had("m", 1, 50, {w("b")}, 3000, 3001, 3002, 3003).check(), Invariant::liveness,
              "overtaken 3 times");
  expect_kept(overtaken({w("a"), w("b")}, {w("a"), w("b")}, 2).check());
}

TEST(Overtaking, OnlyWhoCertainlyCameLaterCounts) {
  expect_kept(overtaken({w("a")}, {w("a")}, 3, 1100).check());
  Rules rules;
  rules.in_line = milliseconds(99);
  expect_only(overtaken({w("a")}, {w("a")}, 3, 1100).check(rules), Invariant::liveness,
              "overtaken 3 times");
}

TEST(Overtaking, WhoIsGrantedLaterDidNotOvertake) {
  Story story = overtaken({w("a")}, {w("a")}, 2);
  expect_kept(story.had("m", 1, 100, {w("a")}, 8000, 9950, 9951, 9952).check());
}

TEST(Overtaking, WhatIsAdmittedTogetherDoesNotConflict) {
  expect_kept(overtaken({r("a", 2)}, {r("a", 2)}, 9).check());
  expect_only(overtaken({r("a", 1)}, {r("a", 1)}, 9).check(), Invariant::liveness, "overtaken 9");
  expect_only(overtaken({w("a", 1)}, {r("a", 2)}, 9).check(), Invariant::liveness, "overtaken 9");
}

TEST(Overtaking, OnlyThoseAreJudgedWhoWaitedAndWereGranted) {
  const auto with = [](Duration wait, What answer) {
    Story story;
    story.add("c", 0, Bounded{0}).ask("p", 1, 1000, {w("a")}, wait).add("p", 3000, answer);
    return story.had("n", 1, 10, {w("a")}, 2000, 2001, 2002, 2003).check().counts;
  };
  EXPECT_EQ(with(seconds(60), Granted{1, Stamp{99}, ms(9900), {}}).overtaken, 1U);
  EXPECT_EQ(with(seconds(2), TimedOut{1}).waits, 0U);
  EXPECT_EQ(with({}, Granted{1, Stamp{99}, ms(9900), {}}).waits, 0U);
}

// Somebody slow was passed over.
TEST(Overtaking, ASmallShareIsBorne) {
  Rules rules;
  rules.overtaken = 0.5;
  Story story = overtaken({w("a")}, {w("a")}, 3);
  expect_only(story.check(rules), Invariant::liveness, "overtaken 3");
  story.ask("q", 1, 9500, {w("b")}, seconds(60))
      .add("q", 9501, Granted{1, Stamp{100}, ms(9900), {}});
  const Report report = story.check(rules);
  expect_kept(report);
  EXPECT_EQ(report.counts.waits, 2U);
  EXPECT_EQ(report.counts.overtaken, 1U);
}

TEST(Overtaking, IsNotJudgedWithFaultsOrWithoutABound) {
  Story story = overtaken({w("a")}, {w("a")}, 9);
  expect_kept(Story(story).add("c", 500, Kill{"x"}).check());
  // The greater one of two bounds.
  expect_kept(Story(story).add("d", 0, Bounded{9}).check());
  Story unbounded;
  unbounded.ask("p", 1, 1000, {w("a")}, seconds(60));
  unbounded.add("p", 9000, Granted{1, Stamp{99}, ms(9900), {}});
  unbounded.had("n", 1, 10, {w("a")}, 2000, 2001, 2002, 2003);
  const Report report = unbounded.check();
  expect_kept(report);
  EXPECT_EQ(report.counts.waits, 0U);
}

}  // namespace
}  // namespace lockset::history
