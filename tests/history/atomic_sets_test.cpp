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
}

TEST(AtomicSets, WhatIsSurelyThereIsShown) {
  const auto nothing_between = [](std::int64_t from, std::int64_t to) {
    Story story;
    story.had("p", 1, 10, {w("a"), r("b")}, 10, 20, 80, 90);
    return story.add("o", from, SeenBegin{}).add("o", to, SeenEnd{});
  };
  const std::string missing = "a hold that was certainly there is missing";
  expect_only(nothing_between(20, 79).check(), Invariant::atomic_sets, missing);
  expect_kept(nothing_between(19, 79).check());
  expect_kept(nothing_between(20, 80).check());
  // Holds that are lost, broken or killed may be gone.
  expect_kept(nothing_between(30, 40).add("p", 35, Lost{Stamp{10}}).check());
  expect_kept(nothing_between(30, 40).add("c", 40, Kill{"p"}).check());
  expect_only(nothing_between(30, 40).add("c", 41, Kill{"p"}).check(), Invariant::atomic_sets,
              missing);
  Story broken = nothing_between(30, 40);
  broken.add("o", 35, Release{Stamp{10}});
  expect_kept(Story(broken).add("o", 36, ReleaseUnknown{Stamp{10}}).check());
  expect_only(Story(broken).add("o", 36, NotHeld{Stamp{10}}).check(), Invariant::atomic_sets,
              missing);
}

TEST(AtomicSets, EveryPictureIsComparedInWhateverOrderTheyStand) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 10, 20, 70).hold("p", 2, 20, {w("b")}, 30, 40, 70);
  const auto snapshot = [&](const std::string& who, std::int64_t at, std::vector<Seen> seen) {
    story.add(who, at, SeenBegin{});
    for (Seen& each : seen) story.add(who, at, std::move(each));
    story.add(who, at + 1, SeenEnd{});
  };
  snapshot("o", 50, {{Stamp{10}, {w("a")}}, {Stamp{20}, {w("b")}}});
  snapshot("n", 25, {{Stamp{10}, {w("a")}}});
  snapshot("m", 75, {});
  Rules rules;
  rules.records_lost = false;
  expect_kept(story.check(rules));
  snapshot("z", 60, {{Stamp{20}, {w("b")}}});
  expect_only(story.check(rules), Invariant::atomic_sets, "between 50 ms and 51 ms");
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
  expect_only(seen(11, {w("a"), r("b")}, 95).check(), Invariant::atomic_sets, "nobody was granted");
  const auto with = [](What outcome) {
    Story story = seen(11, {w("c")}, 95);
    story.ask("q", 1, 0, {w("c")}).add("q", 5, std::move(outcome));
    return story.check().found_of(Invariant::atomic_sets);
  };
  EXPECT_EQ(with(Unknown{1}), 0U);
  EXPECT_EQ(with(Refused{1}), 1U);
  EXPECT_EQ(with(TimedOut{1}), 1U);
  EXPECT_EQ(with(Busy{1, "c", {}}), 1U);
}

TEST(AtomicSets, AnUnknownOutcomeExplainsItsOwnSetOnlyAndNotForEver) {
  Story other = seen(11, {w("c")}, 95);
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
  // It may arrive 100 ms after 5, and lasts 2 s and 10 ms more.
  EXPECT_EQ(at(2115), 0U);
  EXPECT_EQ(at(2116), 1U);
}

// A client that was stopped gives back what was granted too late, and says that it got nothing.
TEST(AtomicSets, ARefusalThatTookAsLongAsItsLeaseExplainsItsSet) {
  const auto refused_at = [](std::int64_t time, std::vector<Wish> set) {
    Story story = seen(11, {w("c")}, 95);
    story.ask("q", 1, 0, std::move(set)).add("q", time, Refused{1});
    return story.check().found_of(Invariant::atomic_sets);
  };
  EXPECT_EQ(refused_at(2000, {w("c")}), 0U);
  EXPECT_EQ(refused_at(900, {w("c")}), 1U);
  EXPECT_EQ(refused_at(2000, {w("c"), w("d")}), 1U);
}

TEST(AtomicSets, OneHoldIsShownOnce) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 80, 90).add("o", 30, SeenBegin{});
  story.add("o", 31, Seen{Stamp{10}, {w("a")}}).add("o", 32, Seen{Stamp{10}, {w("a")}});
  story.add("o", 33, SeenEnd{});
  expect_only(story.check(), Invariant::atomic_sets, "shown twice");
}

// At 30 the holder's client says that its time is over; at 40 the store shows the hold.
TEST(AtomicSets, WhereClientsKeepTheTimeADeniedHoldMayStillBeShown) {
  const auto denied = [] {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 25);
    story.add("p", 25, Lost{Stamp{10}}).add("p", 26, Renew{Stamp{10}});
    story.add("p", 30, NotRenewed{Stamp{10}});
    return story.add("s", 40, SeenBegin{})
        .add("s", 41, Seen{Stamp{10}, {w("a")}})
        .add("s", 41, SeenEnd{});
  };
  Rules rules;
  rules.denials_end = false;
  expect_kept(denied().check(rules));
  expect_only(denied().check(), Invariant::atomic_sets, "a hold after its end");
}

// It is shown as its client last said: what it says by then is right all the same.
TEST(AtomicSets, WhereClientsAreAskedASnapshotMayBeOld) {
  Rules rules;
  rules.snapshots_current = false;
  expect_kept(seen(10, {w("a"), r("b")}, 91).check(rules));
  expect_only(seen(10, {w("a"), r("b")}, 7).check(rules), Invariant::atomic_sets, "before it was");
  expect_only(seen(10, {w("a")}, 91).check(rules), Invariant::atomic_sets, "a part of a set");
  expect_only(seen(11, {w("c")}, 95).check(rules), Invariant::atomic_sets, "nobody was granted");
  Story missing;
  missing.had("p", 1, 10, {w("a")}, 10, 20, 80, 90);
  expect_kept(missing.add("o", 30, SeenBegin{}).add("o", 40, SeenEnd{}).check(rules));
  Story late = seen(11, {w("c")}, 95);
  late.ask("q", 1, 0, {w("c")}).add("q", 1, Unknown{1});
  rules.late = rules.slack = std::chrono::milliseconds(-2000);
  expect_kept(late.check(rules));
}

}  // namespace
}  // namespace lockset::history
