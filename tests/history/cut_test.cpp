// Connections that break off, and the holds that end with them: SEM 10
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Connections break off from 100 to 110.
Story cut() {
  Story story;
  return story.add("controller", 100, CutBegin{"kill"}).add("controller", 110, CutEnd{"kill"});
}

// The first is granted at 20 and believes in its hold until 200; the second is granted it at 150.
Story two(Story story) {
  story.had("p", 1, 10, {w("a")}, 10, 20, 200, 201);
  return story.had("q", 1, 11, {w("a")}, 140, 150, 160, 161);
}

TEST(Cut, MayEndAHoldThatItsHolderStillBelievesIn) {
  const Report report = two(cut()).check();
  expect_kept(report);
  EXPECT_EQ(report.counts.cut_off, 1U);
}

TEST(Cut, IsTheOnlyExcuseForTwoHolders) {
  const Report report = two({}).check();
  EXPECT_EQ(report.found_of(Invariant::exclusion), 1U);
  EXPECT_EQ(report.found_of(Invariant::fencing), 1U);
}

TEST(Cut, ExcusesNobodyBefore) {
  Story story = cut();
  story.had("p", 1, 10, {w("a")}, 10, 20, 200, 201);
  story.had("q", 1, 11, {w("a")}, 80, 90, 95, 96);
  EXPECT_EQ(story.check().found_of(Invariant::exclusion), 1U);
}

TEST(Cut, ExcusesNobodyWhoAskedAfterIt) {
  const auto asked = [](std::int64_t at) {
    Story story = cut();
    story.had("p", 1, 10, {w("a")}, at, 120, 200, 201);
    return story.had("q", 1, 11, {w("a")}, 140, 150, 160, 161).check();
  };
  expect_kept(asked(110));
  EXPECT_EQ(asked(111).found_of(Invariant::exclusion), 1U);
}

// The hold was still there when a renewal was sent that was done.
TEST(Cut, ExcusesNobodyWhoseHoldWasRenewedAfterIt) {
  const auto renewed = [](std::int64_t sent, const What& answer) {
    Story story = two(cut());
    return story.add("p", sent, Renew{Stamp{10}}).add("p", 145, answer).check();
  };
  const Renewed done{Stamp{10}, ms(2000)};
  EXPECT_EQ(renewed(111, done).found_of(Invariant::exclusion), 1U);
  expect_kept(renewed(110, done));
  expect_kept(renewed(111, RenewUnknown{Stamp{10}}));
}

// In the middle of it: until then it was certainly there.
TEST(Cut, BeginsForAHoldWithItsLastRenewal) {
  Story story = cut();
  story.had("p", 1, 10, {w("a")}, 10, 20, 200, 201);
  story.add("p", 106, Renew{Stamp{10}}).add("p", 107, Renewed{Stamp{10}, ms(2000)});
  story.had("q", 1, 11, {w("a")}, 102, 105, 109, 110);
  story.add("q", 107, Renew{Stamp{11}}).add("q", 108, Renewed{Stamp{11}, ms(2000)});
  EXPECT_EQ(story.check().found_of(Invariant::exclusion), 1U);
}

// Of several logs, or of several kinds in one.
TEST(Cut, LastsAsLongAsOneOfThoseThatMeet) {
  Story story = two({});
  story.add("observer", 2, CutBegin{"break"}).add("observer", 145, CutEnd{"break"});
  story.add("controller", 3, CutBegin{"network"}).add("controller", 4, CutBegin{"kill"});
  story.add("controller", 5, CutEnd{"network"}).add("controller", 6, CutEnd{"kill"});
  expect_kept(story.check());
}

// Its resource may refuse it, and a snapshot need not show it.
TEST(Cut, ExcusesWhatFollowsFromTheEnd) {
  const auto told = [](Story story) {
    story.hold("p", 1, 10, {w("a")}, 10, 20, 900).release("p", 10, 200, 201);
    story.hold("q", 1, 11, {w("a")}, 140, 150, 900).release("q", 11, 160, 161);
    story.add("q", 155, Use{Stamp{11}, "a", true}).add("p", 156, Use{Stamp{10}, "a", false});
    return story.add("o", 170, SeenBegin{}).add("o", 171, SeenEnd{}).check();
  };
  expect_kept(told(cut()));
  EXPECT_EQ(told({}).found_of(Invariant::resource), 1U);
  EXPECT_EQ(told({}).found_of(Invariant::atomic_sets), 1U);
}

// It stays in the store at most as long as ever.
TEST(Cut, MakesNoHoldLastLonger) {
  Story story = cut();
  story.had("p", 1, 10, {w("a")}, 10, 20, 30, 31);
  story.ask("q", 1, 105, {w("a")}).add("q", 106, Busy{1, "a", Stamp{10}});
  EXPECT_EQ(story.check().found_of(Invariant::busy), 1U);
}

// valid() and lost() don't know of it.
TEST(Cut, ExcusesNoDishonestHolder) {
  Story story = cut();
  story.hold("p", 1, 10, {w("a")}, 10, 20, 500).release("p", 10, 900, 901);
  story.add("p", 120, Lost{Stamp{10}}).add("p", 131, Valid{Stamp{10}, ms(130), true});
  EXPECT_EQ(story.check().found_of(Invariant::lease), 1U);
}

TEST(Cut, WhatMakesNoSenseIsRefused) {
  Story story;
  story.add("c", 1, CutBegin{"kill"}).add("c", 2, CutEnd{"break"});
  EXPECT_NE(history::check(story.history(), {}).error().message.find("did not begin: kind=break"),
            std::string::npos);
}

}  // namespace
}  // namespace lockset::history
