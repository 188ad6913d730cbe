// A store that was wiped or restored from a backup: what was taken before may be gone or back, and
// what is taken afterwards is judged as ever. SEM 8, 20
#include "tests/history/story.h"

namespace lockset::history {
namespace {

Story restored(Story story, std::int64_t begin = 50, std::int64_t end = 60) {
  return story.add("store", begin, RestoreBegin{}).add("store", end, RestoreEnd{});
}
// Granted at 10, promised until 1000.
Story held() {
  Story story;
  return story.hold("p", 1, 10, {w("a")}, 0, 10, 1000);
}
Rules without_lost() {
  Rules rules;
  rules.records_lost = false;
  return rules;
}

TEST(Restore, WhatWasHeldBeforeMayBeForgotten) {
  const auto granted_again = [](Story story) {
    return story.hold("q", 2, 20, {w("a")}, 70, 80, 900);
  };
  EXPECT_EQ(granted_again(held()).check(without_lost()).found_of(Invariant::exclusion), 1U);
  expect_kept(granted_again(restored(held())).check(without_lost()));
}

TEST(Restore, OneThatWasAskedForBeforeAndGrantedMeanwhileMayBeForgottenToo) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 40, 55, 1000).hold("q", 2, 20, {w("a")}, 70, 80, 900);
  EXPECT_EQ(story.check(without_lost()).found_of(Invariant::exclusion), 1U);
  expect_kept(restored(story).check(without_lost()));
}

TEST(Restore, WhatIsGrantedAfterwardsExcludesEachOther) {
  Story story = restored(held());
  story.hold("q", 2, 20, {w("a")}, 70, 80, 900).hold("r", 3, 30, {w("a")}, 90, 100, 900);
  EXPECT_EQ(story.check(without_lost()).found_of(Invariant::exclusion), 1U);
  Story early = held();
  early.hold("q", 2, 20, {w("a")}, 20, 30, 900);
  EXPECT_EQ(restored(early).check(without_lost()).found_of(Invariant::exclusion), 1U);
}

TEST(Restore, WhatTheRestoredStoreConfirmedIsThereAgain) {
  const auto renewed = [](std::int64_t sent) {
    Story story = restored(held());
    story.add("p", sent, Renew{Stamp{10}}).add("p", 75, Renewed{Stamp{10}, ms(1100)});
    return story.hold("q", 2, 20, {w("a")}, 80, 90, 900).check(without_lost());
  };
  EXPECT_EQ(renewed(61).found_of(Invariant::exclusion), 1U);
  expect_kept(renewed(60));  // the answer may be that of before
  Story lost = restored(held());
  lost.add("p", 61, Renew{Stamp{10}}).add("p", 75, Renewed{Stamp{10}, ms(1100)});
  lost.add("p", 78, Lost{Stamp{10}}).hold("q", 2, 20, {w("a")}, 80, 90, 900);
  expect_kept(lost.check(without_lost()));
}

TEST(Restore, AReleaseOfBeforeMayComeOnceMore) {
  const auto renewed = [](std::int64_t late) {
    Story story = restored(held().release("admin", 10, 20, 30));
    story.add("p", 70, Renew{Stamp{10}}).add("p", 75, Renewed{Stamp{10}, ms(1100)});
    Rules rules = without_lost();
    rules.late = std::chrono::milliseconds(late);
    return story.hold("q", 2, 20, {w("a")}, 80, 90, 900).check(rules);
  };
  EXPECT_EQ(renewed(40).found_of(Invariant::exclusion), 1U);
  expect_kept(renewed(41));
}

TEST(Restore, WhatHadEndedMayBeBack) {
  const auto ended = [] {
    Story story;
    return story.had("p", 1, 10, {w("a")}, 0, 10, 20, 30);
  };
  const auto shown = [](Story story) {
    story.add("o", 100, SeenBegin{}).add("o", 100, Seen{Stamp{10}, {w("a")}});
    return story.add("o", 101, SeenEnd{}).check();
  };
  expect_only(shown(ended()), Invariant::atomic_sets, "after its end");
  expect_kept(shown(restored(ended())));
  const auto busy = [](Story story) {
    return story.ask("q", 2, 100, {w("a")}).add("q", 110, Busy{2, "a", Stamp{10}}).check();
  };
  expect_only(busy(ended()), Invariant::busy, "nobody can have been in its way");
  expect_kept(busy(restored(ended())));
  // Ended for good by what the restored store said.
  Story again = restored(ended());
  again.release("p", 10, 70, 80);
  expect_only(shown(again), Invariant::atomic_sets, "after its end");
  expect_kept(again.check());
}

TEST(Restore, WhatIsBackMayBeRenewed) {
  const auto renewed = [](Story story, std::int64_t sent) {
    story.add("p", sent, Renew{Stamp{10}}).add("p", sent + 1, Renewed{Stamp{10}, ms(1100)});
    return story.check(without_lost());
  };
  const auto broken = [] { return held().release("admin", 10, 20, 30); };
  expect_only(renewed(broken(), 70), Invariant::lease, "it had ended at 30 ms");
  expect_kept(renewed(restored(broken()), 70));
  expect_only(renewed(restored(held()).release("admin", 10, 70, 80), 81), Invariant::lease,
              "it had ended at 80 ms");
}

TEST(Restore, StampsGoUpAllTheSame) {
  Story story = restored(held());
  story.hold("q", 2, 9, {w("b")}, 70, 80, 900);
  expect_only(story.check(without_lost()), Invariant::fencing, "has the smaller stamp");
}

TEST(Restore, BeginsAndEndsInTurn) {
  Story story;
  story.add("store", 1, RestoreEnd{});
  EXPECT_FALSE(check(story.history(), {}).ok());
  Story twice;
  twice.add("store", 1, RestoreBegin{}).add("store", 2, RestoreBegin{});
  EXPECT_FALSE(check(twice.history(), {}).ok());
}

}  // namespace
}  // namespace lockset::history
