// I4: SEM 4, 14
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Another process perhaps has `held` from 10 to 90; `wanted` is asked for from a to b.
Report refused(Wish held, Wish wanted, std::int64_t a, std::int64_t b, Busy busy = {1, "a", {}}) {
  Story story;
  story.had("p", 1, 10, {std::move(held)}, 10, 20, 80, 90);
  story.ask("q", 1, a, {std::move(wanted)}).add("q", b, std::move(busy));
  return story.check();
}

TEST(Busy, WithSomebodyPerhapsInTheWayIsKept) {
  expect_kept(refused(w("a"), w("a"), 40, 50));
  expect_kept(refused(w("a"), r("a", 9), 40, 50));
  expect_kept(refused(r("a", 9), w("a"), 40, 50));
  expect_kept(refused(w("a"), w("a"), 0, 10));
  expect_kept(refused(w("a"), w("a"), 90, 99));
}

TEST(Busy, WithNobodyInTheWayIsNot) {
  expect_only(refused(w("a"), w("a"), 0, 9), Invariant::busy, "nobody");
  expect_only(refused(w("a"), w("a"), 91, 99), Invariant::busy, "nobody");
  expect_only(refused(w("b"), w("a"), 40, 50), Invariant::busy, "nobody");
  expect_only(refused(r("a", 2), r("a", 2), 40, 50), Invariant::busy, "nobody");
  expect_only(refused(w("a", 2), w("a", 2), 40, 50), Invariant::busy, "nobody");
}

// q waits for `wanted` from 40 on, until `ended` (0: for ever). n asks for a write of "a" from a to
// b, and is told busy; nobody holds anything.
Story kept_for(Wish wanted, std::int64_t ended, std::int64_t a, std::int64_t b, Busy busy) {
  Story story;
  story.had("p", 1, 10, {w("z")}, 1, 2, 3, 4);
  story.ask("q", 1, 40, {std::move(wanted)}, std::chrono::seconds(60));
  if (ended > 0) story.add("q", ended, TimedOut{1});
  story.ask("n", 1, a, {w("a"), w("c")}).add("n", b, std::move(busy));
  return story;
}

TEST(Busy, BecauseANameIsKeptForAWaiterNamesNoHold) {
  const Busy no_hold{1, "a", {}};
  expect_kept(kept_for(w("a"), 90, 50, 60, no_hold).check());
  expect_kept(kept_for(r("c"), 90, 50, 60, no_hold).check());
  expect_kept(kept_for(w("a"), 0, 5000, 6000, no_hold).check());
  expect_kept(kept_for(w("a"), 90, 30, 40, no_hold).check());
  expect_kept(kept_for(w("a"), 90, 90, 99, no_hold).check());
  expect_only(kept_for(w("a"), 90, 30, 39, no_hold).check(), Invariant::busy, "nobody");
  expect_only(kept_for(w("a"), 90, 91, 99, no_hold).check(), Invariant::busy, "nobody");
  expect_only(kept_for(w("b"), 90, 50, 60, no_hold).check(), Invariant::busy, "nobody");
  // A waiter does not explain that a hold is in the way.
  expect_only(kept_for(w("a"), 90, 50, 60, {1, "a", Stamp{77}}).check(), Invariant::busy, "nobody");
}

TEST(Busy, NothingIsKeptForATryNorFromTheWaiterItself) {
  Story story;
  story.had("p", 1, 10, {w("z")}, 1, 2, 3, 4);
  story.ask("q", 1, 40, {w("a")}).add("q", 90, TimedOut{1});
  story.ask("n", 1, 50, {w("a")}, std::chrono::seconds(60)).add("n", 60, Busy{1, "a", {}});
  expect_only(story.check(), Invariant::busy, "nobody");
  // But for another one who waits, whoever of all ends last.
  story.ask("m", 1, 45, {w("a")}, std::chrono::seconds(60)).add("m", 55, TimedOut{1});
  expect_kept(story.check());
}

// The store may never have learned that the wait is over.
TEST(Busy, WithFaultsANameMayBeKeptForLonger) {
  Rules rules;
  rules.spurious_busy = 0;
  rules.late = std::chrono::milliseconds(100);
  rules.waiter_lifetime = std::chrono::seconds(1);
  const auto asked_at = [&](std::int64_t a) {
    Story story = kept_for(w("a"), 90, a, a + 1, {1, "a", {}});
    return story.add("c", 0, FaultBegin{"cut"}).check(rules);
  };
  expect_kept(asked_at(1190));
  expect_only(asked_at(1191), Invariant::busy, "nobody");
}

TEST(Busy, ItsWitnessWasThere) {
  expect_kept(refused(w("a"), w("a"), 40, 50, {1, "a", Stamp{10}}));
  expect_only(refused(w("a"), w("a"), 40, 50, {1, "b", Stamp{10}}), Invariant::busy,
              "does not have the name");
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 30, 39).had("p", 2, 11, {w("a")}, 40, 41, 80, 90);
  story.ask("q", 1, 40, {w("a")}).add("q", 50, Busy{1, "a", Stamp{10}});
  expect_only(story.check(), Invariant::busy, "which was not there");
}

TEST(Busy, AnUnknownOutcomeMayBeInTheWay) {
  Story story;
  story.ask("p", 1, 10, {w("a")}).add("p", 20, Unknown{1});
  story.ask("q", 1, 30, {w("a")}).add("q", 40, Busy{1, "a", Stamp{17}});
  expect_kept(story.check());
}

TEST(Busy, WithFaultsASmallShareIsBorne) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 80, 90).add("c", 0, FaultBegin{"cut"});
  for (std::uint64_t op = 1; op <= 9; ++op) {
    story.ask("q", op, 40, {w("a")}).add("q", 50, Busy{op, "a", {}});
  }
  story.ask("q", 10, 91, {w("a")}).add("q", 99, Busy{10, "a", {}});
  Rules rules;
  rules.spurious_busy = 0.1;
  expect_kept(story.check(rules));
  EXPECT_EQ(story.check(rules).counts.spurious_busy, 1U);
  rules.spurious_busy = 0.05;
  expect_only(story.check(rules), Invariant::busy, "op 10 of q");
}

// Nobody knows which value applied, so the lower one explains it.
TEST(Busy, DuringAChangeOfPermitsTheLessExplainsIt) {
  Story story;
  story.add("c", 0, PermitsBegin{"a", 1, 1}).add("c", 1, PermitsEnd{"a", 1, 1});
  story.add("c", 30, PermitsBegin{"a", 1, 3}).add("c", 200, PermitsEnd{"a", 1, 3});
  story.had("p", 1, 10, {w("a", 0)}, 10, 20, 180, 190);
  story.ask("q", 1, 50, {w("a", 0)}).add("q", 60, Busy{1, "a", Stamp{10}});
  expect_kept(story.check());
}

}  // namespace
}  // namespace lockset::history
