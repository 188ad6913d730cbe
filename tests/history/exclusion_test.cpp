// I1: SEM 4
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Stamps are recorded per name only, so that I2 does not apply where it is not meant.
Story two(Wish first, Wish second) {
  Story story;
  story.hold("p", 1, 10, {std::move(first)}, 0, 1, 500).release("p", 10, 100, 101);
  story.hold("q", 1, 11, {std::move(second)}, 50, 60, 500).release("q", 11, 110, 111);
  return story;
}

TEST(Exclusion, OneAfterTheOtherIsKept) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 100, 120).had("q", 1, 11, {w("a")}, 50, 100, 200, 210);
  expect_kept(story.check());
}

TEST(Exclusion, TwoWritersAtOnceAreNot) {
  const Report report = two(w("a"), w("a")).check();
  EXPECT_EQ(report.found_of(Invariant::exclusion), 1U);
  EXPECT_EQ(
      report.violations.at(0).story,
      "name \"a\" at 60 ms: 2 write holds at once, more than its write permits\n"
      "  write \"a\": op 1 of q, asked at 50 ms, granted stamp 11 at 60 ms, certainly held until "
      "110 ms, perhaps until 111 ms\n"
      "  write \"a\": op 1 of p, asked at 0 ms, granted stamp 10 at 1 ms, certainly held until "
      "100 ms, perhaps until 101 ms");
}

// A holder that saw valid() false no longer relies on the hold.
TEST(Exclusion, WhatItsHolderKnowsToBeOverIsHeldNoMore) {
  const auto told = [](int at) {
    Story story = two(w("a"), w("a"));
    story.add("p", at, Valid{Stamp{10}, ms(at - 1), false});
    return story.check().found_of(Invariant::exclusion);
  };
  EXPECT_EQ(told(59), 0U);
  EXPECT_EQ(told(70), 1U);
}

TEST(Exclusion, TwoWritersWithTwoPermitsAreKept) { expect_kept(two(w("a", 2), w("a", 2)).check()); }

TEST(Exclusion, ReaderBesideWriterIsNot) {
  EXPECT_EQ(two(r("a", 9), w("a", 9)).check().found_of(Invariant::exclusion), 1U);
  EXPECT_EQ(two(w("a", 9), r("a", 9)).check().found_of(Invariant::exclusion), 1U);
}

TEST(Exclusion, ReadersShareAsFarAsTheirPermitsGo) {
  expect_kept(two(r("a", 2), r("a", 2)).check());
  EXPECT_EQ(two(r("a"), r("a")).check().found_of(Invariant::exclusion), 1U);
}

TEST(Exclusion, AHolderWhoDiedOrLostItIsNotInTheWay) {
  const auto with = [](What end, const char* by) {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 500).add(by, 55, std::move(end));
    story.had("q", 1, 11, {w("a")}, 50, 60, 110, 111);
    return story.check().found_of(Invariant::exclusion);
  };
  EXPECT_EQ(with(Kill{"p"}, "controller"), 0U);
  EXPECT_EQ(with(Lost{Stamp{10}}, "p"), 0U);
  EXPECT_EQ(with(Kill{"q"}, "controller"), 0U) << "q is dead before it knows of its grant";
  EXPECT_EQ(with(Kill{"r"}, "controller"), 1U);
}

TEST(Exclusion, ABrokenHoldIsNotInTheWayAndAFailedBreakChangesNothing) {
  Story broken;
  broken.hold("p", 1, 10, {w("a")}, 0, 1, 500).release("admin", 10, 20, 30);
  broken.had("q", 1, 11, {w("a")}, 50, 60, 110, 111);
  expect_kept(broken.check());
  Story tried;
  tried.hold("p", 1, 10, {w("a")}, 0, 1, 500);
  tried.add("admin", 20, Release{Stamp{10}}).add("admin", 30, NotHeld{Stamp{10}});
  tried.had("q", 1, 11, {w("a")}, 50, 60, 110, 111);
  EXPECT_EQ(tried.check().found_of(Invariant::exclusion), 1U);
}

TEST(Exclusion, ARenewalProlongsAHoldOnlyIfItCameInTime) {
  const auto renewed_at = [](std::int64_t at) {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 50);
    story.add("p", 40, Renew{Stamp{10}}).add("p", at, Renewed{Stamp{10}, ms(500)});
    story.hold("q", 1, 11, {w("a")}, 100, 110, 900);
    return story.check().found_of(Invariant::exclusion);
  };
  EXPECT_EQ(renewed_at(45), 1U);
  EXPECT_EQ(renewed_at(60), 0U);
}

}  // namespace
}  // namespace lockset::history
