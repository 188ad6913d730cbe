// A hold that takes the place of another one: SEM 29, 30
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// p holds "a" as `from`, with stamp 10, and asks from 100 to 110 for it as `to`, with stamp 20, in
// its place; and releases that from 300 on.
Story converted(Wish from, Wish to) {
  Story story;
  story.hold("p", 1, 10, {std::move(from)}, 10, 20, 1000);
  story.ask("p", 2, 100, {std::move(to)}).add("p", 100, Replace{2, Stamp{10}});
  story.add("p", 110, Granted{2, Stamp{20}, ms(2000), {}});
  return story.release("p", 20, 300, 310);
}

TEST(Replacing, EndsTheHoldInTheSameStep) {
  expect_kept(converted(r("a", 2), w("a")).check());
  expect_kept(converted(w("a"), r("a", 2)).check());
  // The hold has ended: it is neither renewed nor released once more.
  Story renewed = converted(r("a", 2), w("a"));
  renewed.add("p", 120, Renew{Stamp{10}}).add("p", 130, Renewed{Stamp{10}, ms(3000)});
  expect_only(renewed.check(), Invariant::lease, "though it had ended");
  Story released = converted(r("a", 2), w("a"));
  expect_only(released.release("q", 10, 120, 130).check(), Invariant::lease, "released 2 times");
}

TEST(Replacing, NobodyGetsBetween) {
  // A write that has a stamp in between, although both were asked for at the same time.
  Story upgraded = converted(r("a", 2), w("a"));
  upgraded.had("q", 1, 15, {w("a")}, 90, 105, 106, 107);
  expect_only(upgraded.check(), Invariant::fencing, "not admissible");
  Story downgraded = converted(w("a"), r("a", 2));
  downgraded.had("q", 1, 15, {r("a", 2)}, 90, 105, 106, 107);
  expect_only(downgraded.check(), Invariant::fencing, "not admissible");
  // Behind it, others read as well.
  Story shared = converted(w("a"), r("a", 2));
  expect_kept(shared.had("q", 1, 25, {r("a", 2)}, 90, 112, 113, 114).check());
}

TEST(Replacing, AReaderHindersAnUpgrade) {
  Story story = converted(r("a", 2), w("a"));
  story.had("q", 1, 5, {r("a", 2)}, 1, 2, 120, 130);
  const Report report = story.check();
  EXPECT_GT(report.found_of(Invariant::exclusion), 0U);
}

TEST(Replacing, WhatMeetsContentionKeepsItsHold) {
  Story story;
  story.had("q", 1, 5, {r("a", 2)}, 1, 2, 120, 130);
  story.hold("p", 1, 10, {r("a", 2)}, 10, 20, 1000);
  story.ask("p", 2, 100, {w("a")}).add("p", 100, Replace{2, Stamp{10}});
  story.add("p", 110, Busy{2, "a", Stamp{5}}).release("p", 10, 300, 310);
  expect_kept(story.check());
  // It is still there, and keeps writers out.
  story.had("o", 1, 30, {w("a")}, 140, 150, 160, 170);
  EXPECT_GT(story.check().found_of(Invariant::exclusion), 0U);
}

TEST(Replacing, AnUnknownOutcomeMayHaveEndedIt) {
  Story story;
  story.hold("p", 1, 10, {r("a", 2)}, 10, 20, 1000);
  story.ask("p", 2, 100, {w("a")}).add("p", 100, Replace{2, Stamp{10}});
  story.add("p", 110, Unknown{2}).release("p", 10, 300, 310);
  expect_kept(story.check());
}

TEST(Replacing, ASnapshotShowsOneOfThem) {
  const auto shown = [](std::vector<Seen> holds) {
    Story story = converted(r("a", 2), w("a"));
    story.add("c", 104, SeenBegin{});
    for (Seen& each : holds) story.add("c", 105, std::move(each));
    return story.add("c", 106, SeenEnd{}).check();
  };
  expect_kept(shown({{Stamp{10}, {r("a", 0)}}}));
  expect_kept(shown({{Stamp{20}, {w("a", 0)}}}));
  expect_only(shown({{Stamp{10}, {r("a", 0)}}, {Stamp{20}, {w("a", 0)}}}), Invariant::atomic_sets,
              "together with the one whose place it took");
}

}  // namespace
}  // namespace lockset::history
