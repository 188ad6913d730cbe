// A store that is emptied, and perhaps restored from a backup: what may be forgotten then, and what
// has to be kept all the same. SEM 8, 20
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Restored from 100 to 120; the backup, if there is one, was taken from 40 to 45.
Story& restored(Story& story, bool backup, bool forgets = true) {
  const TimePoint none{};
  story.add("controller", 100,
            RestoreBegin{backup ? ms(40) : none, backup ? ms(45) : none, forgets});
  return story.add("controller", 120, RestoreEnd{});
}

// The store ends leases on time, so that little is "perhaps".
Rules strict() {
  Rules rules;
  rules.slack = {};
  rules.late = {};
  return rules;
}

TEST(Restored, WhatWasGrantedBeforeMayBeGone) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 300, 301);
  story.had("q", 1, 11, {w("a")}, 130, 131, 200, 201);
  EXPECT_EQ(story.check().found_of(Invariant::exclusion), 1U);
  expect_kept(restored(story, false).check());
}

TEST(Restored, WhatWasAskedForMeanwhileMayBeGoneToo) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 110, 130, 300, 301);
  story.had("q", 1, 11, {w("a")}, 140, 141, 200, 201);
  expect_kept(restored(story, false).check());
}

TEST(Restored, WhatWasGrantedSinceExcludes) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 121, 130, 300, 301);
  story.had("q", 1, 11, {w("a")}, 140, 141, 200, 201);
  EXPECT_EQ(restored(story, true).check().found_of(Invariant::exclusion), 1U);
}

TEST(Restored, WhatWasGrantedBeforeStaysWhereNothingIsForgotten) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 300, 301);
  story.had("q", 1, 11, {w("a")}, 130, 131, 200, 201);
  EXPECT_EQ(restored(story, true, false).check().found_of(Invariant::exclusion), 1U);
}

TEST(Restored, StampsGoUpAcrossIt) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 50, 51).had("q", 1, 9, {w("a")}, 130, 131, 200, 201);
  expect_only(restored(story, false).check(), Invariant::fencing, "has the smaller stamp");
  Story again;
  again.had("p", 1, 10, {w("a")}, 0, 1, 50, 51).had("q", 1, 10, {w("a")}, 130, 131, 200, 201);
  EXPECT_GT(restored(again, true).check().found_of(Invariant::fencing), 0U);
}

// Held from 1 to 51: it is in the backup, and was not in the store any more.
Story had_and_asked_for(std::int64_t at) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 50, 51);
  story.ask("q", 1, at, {w("a")}).add("q", at + 1, Busy{1, "a", Stamp{10}});
  return story;
}

TEST(Restored, WhatWasInTheBackupMayBeThereAgain) {
  for (const std::int64_t at : {60, 130}) {
    Story story = had_and_asked_for(at);
    Rules rules = strict();
    rules.spurious_busy = 0;
    EXPECT_EQ(story.check(rules).counts.spurious_busy, 1U) << at;
    EXPECT_EQ(Story(story).add("c", 0, PermitsBegin{"a", 1, 1}).check(rules).counts.spurious_busy,
              1U);
    EXPECT_EQ(restored(story, true).check(rules).counts.spurious_busy, at < 100 ? 1U : 0U) << at;
  }
  // For one lease, not for ever.
  Story later = had_and_asked_for(2200);
  EXPECT_EQ(restored(later, true).check(strict()).counts.spurious_busy, 1U);
}

TEST(Restored, WithoutABackupNothingComesBack) {
  Story story = had_and_asked_for(130);
  EXPECT_EQ(restored(story, false).check(strict()).counts.spurious_busy, 1U);
}

TEST(Restored, WhatEndedBeforeTheBackupDoesNotComeBack) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 30, 31);
  story.ask("q", 1, 130, {w("a")}).add("q", 131, Busy{1, "a", Stamp{10}});
  EXPECT_EQ(restored(story, true).check(strict()).counts.spurious_busy, 1U);
}

TEST(Restored, WhatCameBackMayBeRenewedAndReleasedOnceMore) {
  const auto ended_twice = [] {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 2000);
    story.release("admin", 10, 50, 51);
    story.add("p", 130, Renew{Stamp{10}}).add("p", 131, Renewed{Stamp{10}, ms(2130)});
    return story.release("p", 10, 140, 141);
  };
  EXPECT_EQ(ended_twice().check().found_of(Invariant::lease), 2U);
  Story wiped = ended_twice();
  EXPECT_EQ(restored(wiped, false).check().found_of(Invariant::lease), 2U);
  Story back = ended_twice();
  expect_kept(restored(back, true).check());
}

// The release was applied before, and its answer came after.
TEST(Restored, AReleaseThatWasUnderWayMayHaveBeenUndone) {
  const auto renewed = [](int sent, int returned) {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 2000).release("admin", 10, sent, returned);
    story.add("p", 130, Renew{Stamp{10}}).add("p", 131, Renewed{Stamp{10}, ms(2130)});
    return restored(story, true).check().found_of(Invariant::lease);
  };
  EXPECT_EQ(renewed(90, 121), 0U);
  EXPECT_EQ(renewed(121, 125), 1U);
}

TEST(Restored, APictureMayShowWhatCameBackAndNotWhatIsGone) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 0, 1, 2000).add("p", 1999, Lost{Stamp{10}});
  story.add("o", 130, SeenBegin{}).add("o", 131, SeenEnd{});
  Story back;
  back.had("p", 1, 10, {w("a")}, 0, 1, 50, 51);
  back.add("o", 130, SeenBegin{}).add("o", 130, Seen{Stamp{10}, {w("a")}});
  back.add("o", 131, SeenEnd{});
  EXPECT_EQ(story.check(strict()).found_of(Invariant::atomic_sets), 1U);
  EXPECT_EQ(back.check(strict()).found_of(Invariant::atomic_sets), 1U);
  expect_kept(restored(story, false).check(strict()));
  expect_kept(restored(back, true).check(strict()));
}

// A renewal that was given up before may be applied later, to a hold that was released since.
TEST(Restored, ARenewalWithoutAnAnswerMayBeDoneToWhatCameBack) {
  const auto shown = [](int at) {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 2000);
    story.add("p", 60, Renew{Stamp{10}}).add("p", 80, RenewUnknown{Stamp{10}});
    story.release("p", 10, 90, 91);
    story.add("o", at, SeenBegin{}).add("o", at, Seen{Stamp{10}, {w("a")}});
    story.add("o", at + 1, SeenEnd{});
    history::Rules rules = strict();
    rules.late = std::chrono::milliseconds(200);
    return restored(story, true).check(rules).found_of(Invariant::atomic_sets);
  };
  EXPECT_EQ(shown(2250), 0U) << "sent at 60, done by 260, for 2000";
  EXPECT_EQ(shown(2270), 1U);
}

// It may show half of what is being restored.
TEST(Restored, APictureTakenMeanwhileIsNotJudged) {
  Story story;
  story.had("p", 1, 10, {w("a"), w("b")}, 0, 1, 50, 51);
  story.add("o", 110, SeenBegin{}).add("o", 110, Seen{Stamp{10}, {w("a")}});
  story.add("o", 111, SeenEnd{});
  EXPECT_EQ(story.check(strict()).found_of(Invariant::atomic_sets), 1U);
  expect_kept(restored(story, true).check(strict()));
}

TEST(Restored, ItsHolderIsToldAllTheSame) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 0, 1, 500).add("p", 5000, Valid{Stamp{10}, ms(5000), false});
  EXPECT_EQ(restored(story, false).check().found_of(Invariant::lease), 1U);
}

TEST(Restored, ItIsCountedAndIsTrouble) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 50, 51);
  EXPECT_EQ(restored(story, false).check().counts.restores, 1U);
}

TEST(Restored, ABackupThatMakesNoSenseIsRefused) {
  const auto complaint = [](const Story& story) {
    return history::check(story.history(), {}).error().message;
  };
  Story story;
  story.add("c", 10, RestoreEnd{});
  EXPECT_NE(complaint(story).find("did not begin"), std::string::npos);
  Story twice;
  twice.add("c", 10, RestoreBegin{}).add("c", 11, RestoreBegin{});
  EXPECT_NE(complaint(twice).find("another is under way"), std::string::npos);
  Story backwards;
  backwards.add("c", 10, RestoreBegin{ms(9), ms(8)});
  EXPECT_NE(complaint(backwards).find("ended before it began"), std::string::npos);
}

}  // namespace
}  // namespace lockset::history
