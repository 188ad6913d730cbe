// I5: SEM 9, 10
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Granted at 10, promised until 100, lease 2 s.
Story held(std::int64_t until = 100) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 0, 10, until);
  return story;
}
Valid answer(bool yes, std::int64_t asked) { return {Stamp{10}, ms(asked), yes}; }

TEST(Lease, ValidUntilItsEndIsKept) {
  expect_kept(held().add("p", 150, answer(true, 100)).add("p", 151, answer(false, 101)).check());
}

TEST(Lease, ValidAfterItsEndIsNot) {
  expect_only(held().add("p", 150, answer(true, 101)).check(), Invariant::lease,
              "promised only until 100 ms");
}

TEST(Lease, ValidLongerOnlyByARenewalThatCameInTime) {
  const auto renewed = [](std::int64_t returned) {
    Story story = held();
    story.add("p", 50, Renew{Stamp{10}}).add("p", returned, Renewed{Stamp{10}, ms(200)});
    return story.add("p", 190, answer(true, 180)).check();
  };
  expect_kept(renewed(100));
  expect_only(renewed(101), Invariant::lease, "promised only until 100 ms");
}

TEST(Lease, AnAnswerComesInTimeByOneThatOvertookIt) {
  const auto renewed = [](std::int64_t first) {
    Story story = held();
    story.add("q", 40, Renew{Stamp{10}});  // a renewal by another process prolongs nothing here
    story.add("p", 50, Renew{Stamp{10}}).add("p", 90, Renewed{Stamp{10}, ms(150)});
    story.add("p", 20, Renew{Stamp{10}}).add("p", first, Renewed{Stamp{10}, ms(200)});
    return story.add("p", 190, answer(true, 180)).check();
  };
  expect_kept(renewed(150));
  expect_only(renewed(151), Invariant::lease, "promised only until 150 ms");
}

TEST(Lease, WhatWasOnceFalseStaysFalse) {
  expect_kept(held().add("p", 50, answer(false, 40)).add("p", 55, answer(true, 50)).check());
  expect_only(held().add("p", 50, answer(false, 40)).add("p", 55, answer(true, 51)).check(),
              Invariant::lease, "had been false at 50 ms");
}

TEST(Lease, NothingIsValidAfterItWasLostOrReleased) {
  expect_only(held().add("p", 50, Lost{Stamp{10}}).add("p", 60, answer(true, 51)).check(),
              Invariant::lease, "it was lost at 50 ms");
  expect_kept(held().release("p", 10, 50, 60).add("p", 61, answer(true, 60)).check());
  expect_only(held().release("p", 10, 50, 60).add("p", 62, answer(true, 61)).check(),
              Invariant::lease, "it was released at 60 ms");
  expect_kept(held().release("admin", 10, 50, 60).add("p", 62, answer(true, 61)).check());
}

TEST(Lease, WhatHasEndedIsNotRenewed) {
  const auto renewed = [](Story story, std::int64_t sent) {
    story.add("p", sent, Renew{Stamp{10}}).add("p", sent + 1, Renewed{Stamp{10}, ms(5000)});
    return story.check();
  };
  expect_kept(renewed(held(200).release("admin", 10, 50, 60), 60));
  expect_only(renewed(held(200).release("admin", 10, 50, 60), 61), Invariant::lease,
              "it had ended at 60 ms");
  const auto gone = [] {
    return held(200).add("p", 50, Renew{Stamp{10}}).add("p", 60, NotRenewed{Stamp{10}});
  };
  Rules rules;
  rules.records_lost = false;
  expect_only(renewed(gone(), 61), Invariant::lease, "it had ended at 60 ms");
  // Granted by 10, 2 s of lease, 1 s of slack.
  expect_kept(renewed(held(9000), 3010));
  expect_only(renewed(held(9000), 3011), Invariant::lease, "its lease had ended by 3010 ms");
  // A renewal of unknown outcome may have arrived 10 s later.
  const auto unknown = [] {
    return held(20000).add("p", 50, Renew{Stamp{10}}).add("p", 60, RenewUnknown{Stamp{10}});
  };
  expect_kept(renewed(unknown(), 13050));
  expect_only(renewed(unknown(), 13051), Invariant::lease, "its lease had ended by 13050 ms");
}

TEST(Lease, ItEndsOnce) {
  Story story = held();
  story.release("p", 10, 50, 60).release("q", 10, 50, 61);
  expect_only(story.check(), Invariant::lease, "released 2 times");
  Story refused = held();
  refused.release("p", 10, 50, 60)
      .add("q", 50, Release{Stamp{10}})
      .add("q", 61, NotHeld{Stamp{10}});
  expect_kept(refused.check());
}

TEST(Lease, WhoseReplyWasLostMayClaimAReleaseThatWasSomebodyElses) {
  // p releases from 50 to 60, b breaks the hold meanwhile.
  const auto both = [](std::int64_t from, std::int64_t to) {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 900);
    return story.release("p", 10, 50, 60).release("b", 10, from, to);
  };
  const auto count = [](const Story& story) { return story.check().found_of(Invariant::lease); };
  EXPECT_EQ(count(both(52, 55)), 1U);
  const auto cut = [](Story story, std::int64_t begin, std::int64_t end) {
    return story.add("c", begin, FaultBegin{"cut"}).add("c", end, FaultEnd{"cut"});
  };
  EXPECT_EQ(count(cut(both(52, 55), 40, 51)), 0U);
  EXPECT_EQ(count(cut(both(52, 55), 40, 49)), 1U);
  EXPECT_EQ(count(cut(both(52, 55), 61, 70)), 1U);
  EXPECT_EQ(count(both(52, 55).add("c", 53, Stop{"p"}).add("c", 54, Cont{"p"})), 0U);
  // They must overlap, and there must not be three.
  EXPECT_EQ(count(cut(both(61, 65), 40, 51)), 1U);
  EXPECT_EQ(count(cut(both(52, 55).release("b", 10, 56, 57), 40, 51)), 1U);
  // The holder itself must have released.
  Story strangers;
  strangers.hold("p", 1, 10, {w("a")}, 0, 1, 900).release("a", 10, 50, 60).release("b", 10, 52, 55);
  EXPECT_EQ(count(cut(strangers, 40, 51)), 1U);
}

TEST(Lease, OfTwoReleasesAtOnceByOneProcessOneSucceeds) {
  Story story = held();
  story.add("p", 50, Release{Stamp{10}}).add("p", 51, Release{Stamp{10}});
  story.add("p", 60, NotHeld{Stamp{10}}).add("p", 61, Released{Stamp{10}});
  expect_kept(story.check());
}

TEST(Lease, ItsHolderIsToldInTime) {
  // The process runs until 5000; 2 s after the end at 100 it should know.
  const auto with = [](std::int64_t lost) {
    return held().add("p", lost, Lost{Stamp{10}}).add("p", 5000, answer(false, 5000));
  };
  expect_kept(with(2100).check());
  expect_only(with(2101).check(), Invariant::lease, "was not told by 2100 ms");
  expect_only(held().add("p", 5000, answer(false, 5000)).check(), Invariant::lease, "was not told");
  expect_kept(held().add("p", 5000, answer(false, 5000)).release("p", 10, 2100, 2200).check());
  Rules rules;
  rules.records_lost = false;
  expect_kept(with(2101).check(rules));
}

TEST(Lease, ItsHolderIsToldInTimeThatItIsGone) {
  Story story = held(9000);
  story.add("p", 50, Renew{Stamp{10}}).add("p", 60, NotRenewed{Stamp{10}});
  story.add("p", 5000, answer(false, 5000));
  expect_only(story.check(), Invariant::lease, "it ended at 60 ms");
}

TEST(Lease, WhoIsStoppedIsToldWhenHeGoesOn) {
  const auto told = [](std::int64_t lost) {
    Story story = held();
    story.add("c", 90, Stop{"p"}).add("c", 4000, Cont{"p"});
    return story.add("p", lost, Lost{Stamp{10}}).add("p", 9000, answer(false, 9000)).check();
  };
  expect_kept(told(6000));
  expect_only(told(6001), Invariant::lease, "was not told by 6000 ms");
}

TEST(Lease, TheDeadAreNotTold) {
  expect_kept(held().add("c", 2000, Kill{"p"}).add("p", 5000, answer(false, 5000)).check());
  expect_kept(held().add("p", 2000, answer(false, 2000)).check());
}

// A slow answer, and the answer to a later question, which overtakes it.
TEST(Lease, OfTwoRenewalsUnderWayWhatWasDoneWasAskedFirst) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 10, 20, 1810);
  story.add("p", 50, Renew{Stamp{10}});
  story.release("q", 10, 60, 70);
  story.add("p", 100, Renew{Stamp{10}}).add("p", 110, NotRenewed{Stamp{10}});
  story.add("p", 110, Lost{Stamp{10}}).add("p", 200, Renewed{Stamp{10}, ms(1850)});
  expect_kept(story.check());
}

}  // namespace
}  // namespace lockset::history
