// I3: SEM 5
#include "tests/history/story.h"

namespace lockset::history {
namespace {

Story seen(std::int64_t stamp, std::vector<Wish> set, std::int64_t at = 50) {
  Story story;
  story.had("p", 1, 10, {w("a"), r("b", 3)}, 10, 20, 80, 90);
  story.add("o", at, SeenBegin{}).add("o", at + 1, Seen{Stamp{stamp}, std::move(set)});
  story.add("o", at + 2, SeenEnd{});
  return story;
}

TEST(AtomicSets, AWholeSetOrNothingIsKept) {
  expect_kept(seen(10, {w("a"), r("b")}).check());
  expect_kept(seen(10, {r("b"), w("a")}).check());
  Story nothing;
  nothing.had("p", 1, 10, {w("a"), r("b")}, 10, 20, 80, 90);
  nothing.add("o", 30, SeenBegin{}).add("o", 40, SeenEnd{});
  expect_kept(nothing.check());
}

TEST(AtomicSets, APartIsNot) {
  expect_only(seen(10, {w("a")}).check(), Invariant::atomic_sets, "a part of a set");
  expect_only(seen(10, {w("a"), w("b")}).check(), Invariant::atomic_sets, "a part of a set");
}

TEST(AtomicSets, NothingIsThereBeforeItWasAskedForNorAfterItsEnd) {
  expect_kept(seen(10, {w("a"), r("b")}, 8).check());
  expect_only(seen(10, {w("a"), r("b")}, 7).check(), Invariant::atomic_sets, "before it was asked");
  expect_kept(seen(10, {w("a"), r("b")}, 90).check());
  expect_only(seen(10, {w("a"), r("b")}, 91).check(), Invariant::atomic_sets, "after its end");
}

TEST(AtomicSets, WhatNobodyWasGrantedIsNotThere) {
  expect_only(seen(11, {w("a"), r("b")}).check(), Invariant::atomic_sets, "nobody was granted");
  const auto with = [](What outcome) {
    Story story = seen(11, {w("c")});
    story.ask("q", 1, 0, {w("c")}).add("q", 5, std::move(outcome));
    return story.check().found_of(Invariant::atomic_sets);
  };
  EXPECT_EQ(with(Unknown{1}), 0U);
  EXPECT_EQ(with(Refused{1}), 1U);
  EXPECT_EQ(with(TimedOut{1}), 1U);
  EXPECT_EQ(with(Busy{1, "c", {}}), 1U);
}

TEST(AtomicSets, AnUnknownOutcomeExplainsItsOwnSetOnlyAndNotForEver) {
  Story other = seen(11, {w("c")});
  other.ask("q", 1, 0, {w("c"), w("d")}).add("q", 5, Unknown{1});
  EXPECT_EQ(other.check().found_of(Invariant::atomic_sets), 1U);
  Rules rules;
  rules.late = std::chrono::milliseconds(100);
  rules.slack = std::chrono::milliseconds(10);
  const auto at = [&](std::int64_t time) {
    Story story = seen(11, {w("c")}, time);
    story.ask("q", 1, 0, {w("c")}).add("q", 5, Unknown{1});
    return story.check(rules).found_of(Invariant::atomic_sets);
  };
  // It may arrive 100 ms after 5, lasts 2 s, and 10 ms more.
  EXPECT_EQ(at(2115), 0U);
  EXPECT_EQ(at(2116), 1U);
}

TEST(AtomicSets, OneHoldIsShownOnce) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 80, 90).add("o", 30, SeenBegin{});
  story.add("o", 31, Seen{Stamp{10}, {w("a")}}).add("o", 32, Seen{Stamp{10}, {w("a")}});
  story.add("o", 33, SeenEnd{});
  expect_only(story.check(), Invariant::atomic_sets, "shown twice");
}

}  // namespace
}  // namespace lockset::history
