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
