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
  // A third reader, for two are permitted.
  Story crowded = converted(r("a", 2), w("a"));
  crowded.had("q", 1, 14, {r("a", 2)}, 90, 105, 106, 107);
  expect_kept(crowded.check());
  crowded.had("o", 1, 15, {r("a", 2)}, 90, 105, 106, 107);
  expect_only(crowded.check(), Invariant::fencing, "not admissible");
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

// p holds "a" as `from`, with stamp 10, until 1000; from 100 to 110 it asks for it as `to`, in its
// place, and the outcome is not known.
Story in_doubt(Wish from, Wish to) {
  Story story;
  story.hold("p", 1, 10, {std::move(from)}, 10, 20, 1000);
  story.ask("p", 2, 100, {std::move(to)}).add("p", 100, Replace{2, Stamp{10}});
  return story.add("p", 110, Unknown{2});
}

TEST(Replacing, AnUnknownOutcomeMayHaveEndedIt) {
  expect_kept(in_doubt(r("a", 2), w("a")).release("p", 10, 300, 310).check());
  expect_kept(in_doubt(w("a"), r("a", 2)).release("p", 10, 300, 310).check());
}

TEST(Replacing, AfterAnUpgradeInDoubtItsHolderGoesOn) {
  Story valid = in_doubt(r("a", 2), w("a"));
  valid.add("p", 200, Valid{Stamp{10}, ms(200), true});
  Story forgotten = valid;
  expect_kept(valid.release("p", 10, 300, 310).check());
  // And is told of the end.
  forgotten.add("p", 20'000, Use{Stamp{1}, "b", true});
  expect_only(forgotten.check(), Invariant::lease, "was not told");
  // After a downgrade in doubt others may read.
  Story given_up = in_doubt(w("a"), r("a", 2));
  given_up.add("p", 200, Valid{Stamp{10}, ms(200), true}).release("p", 10, 300, 310);
  expect_only(given_up.check(), Invariant::lease, "it was released");
}

TEST(Replacing, ADowngradeInterruptsValidity) {
  const auto asked_at = [](const Wish& from, Wish to, std::int64_t time) {
    Story story;
    story.had("q", 1, 5, {from}, 1, 2, 400, 410).hold("p", 1, 10, {from}, 10, 20, 1000);
    story.ask("p", 2, 100, {std::move(to)}).add("p", 100, Replace{2, Stamp{10}});
    story.add("p", 110, Busy{2, "a", Stamp{5}});
    story.add("p", time + 1, Valid{Stamp{10}, ms(time), false});
    story.add("p", 200, Valid{Stamp{10}, ms(200), true}).release("p", 10, 300, 310);
    return story.check();
  };
  expect_kept(asked_at(w("a", 2), r("a", 2), 103));
  expect_only(asked_at(w("a", 2), r("a", 2), 120), Invariant::lease, "valid() had been false");
  expect_only(asked_at(r("a", 2), w("a"), 103), Invariant::lease, "valid() had been false");
}

TEST(Replacing, ADenialMeanwhileIsToldWhenTheCallReturns) {
  const auto lost_at = [](std::int64_t time) {
    Story story;
    story.had("q", 1, 5, {r("a", 2)}, 1, 2, 6'000, 6'010);
    story.hold("p", 1, 10, {r("a", 2)}, 10, 20, 20'000);
    story.ask("p", 2, 100, {w("a")}).add("p", 100, Replace{2, Stamp{10}});
    story.add("p", 200, Renew{Stamp{10}}).add("p", 210, NotRenewed{Stamp{10}});
    story.add("p", 5'000, Busy{2, "a", Stamp{5}}).add("p", time, Lost{Stamp{10}});
    return story.add("p", 20'000, Use{Stamp{1}, "b", true}).check();
  };
  expect_kept(lost_at(5'100));
  expect_only(lost_at(8'000), Invariant::lease, "was not told");
}

TEST(Replacing, IsNotInItsOwnWay) {
  const auto busy = [](Stamp witness, bool another) {
    Story story;
    story.hold("p", 1, 10, {r("a", 2)}, 10, 20, 1000);
    if (another) story.had("q", 1, 11, {r("a", 2)}, 30, 40, 105, 120);
    story.ask("p", 2, 100, {w("a")}).add("p", 100, Replace{2, Stamp{10}});
    return story.add("p", 110, Busy{2, "a", witness}).release("p", 10, 300, 310).check();
  };
  expect_kept(busy(Stamp{}, true));
  expect_kept(busy(Stamp{11}, true));
  expect_only(busy(Stamp{10}, true), Invariant::busy, "itself takes the place of");
  expect_only(busy(Stamp{}, false), Invariant::busy, "nobody can have been in its way");
}

TEST(Replacing, WhatHasEndedIsNotLeftOutOfTheOthers) {
  Story story;
  story.hold("p", 1, 10, {r("a", 2)}, 10, 20, 1'000).add("p", 1'000, Lost{Stamp{10}});
  story.had("q", 1, 11, {r("a", 2)}, 4'000, 4'010, 5'200, 5'210);
  story.ask("p", 2, 5'000, {w("a")}).add("p", 5'000, Replace{2, Stamp{10}});
  expect_kept(story.add("p", 5'010, Busy{2, "a", Stamp{}}).check());
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
  expect_only(shown({{Stamp{20}, {w("a", 0)}}, {Stamp{10}, {r("a", 0)}}}), Invariant::atomic_sets,
              "together with the one whose place it took");
}

}  // namespace
}  // namespace lockset::history
