// I10: SEM 27, 28
#include "tests/history/story.h"

namespace lockset::history {
namespace {

Saw saw(std::string name, std::int64_t stamp, bool being_written = false) {
  return {std::move(name), Stamp{stamp}, being_written};
}

// q observes from a to b.
Story& observe(Story& story, std::uint64_t op, std::int64_t a, std::int64_t b,
               std::vector<Saw> seen) {
  return story.add("q", a, Observe{op}).add("q", b, Observed{op, std::move(seen)});
}
// q validates the observation `since` from a to b, and it counts as unchanged.
Story& unchanged(Story& story, std::uint64_t op, std::uint64_t since, std::int64_t a,
                 std::int64_t b) {
  return story.add("q", a, Validate{op, since}).add("q", b, Unchanged{op});
}
Story& changed(Story& story, std::uint64_t op, std::uint64_t since, std::int64_t a, std::int64_t b,
               std::vector<Saw> now = {}) {
  return story.add("q", a, Validate{op, since}).add("q", b, Changed{op, std::move(now)});
}

// q observes "a" from 100 to 110, and validates it from 200 to 210.
Story validated(std::int64_t trace) {
  Story story;
  observe(story, 1, 100, 110, {saw("a", trace)});
  return unchanged(story, 2, 1, 200, 210);
}

TEST(Observing, AWriteInBetweenIsAChange) {
  expect_kept(validated(5).had("p", 1, 10, {r("a")}, 120, 130, 140, 150).check());
  expect_kept(validated(5).had("p", 1, 10, {w("b")}, 120, 130, 140, 150).check());
  expect_only(validated(5).had("p", 1, 10, {w("a")}, 111, 199, 300, 310).check(),
              Invariant::observing, "was granted in between");
  // Perhaps before the one, or after the other.
  expect_kept(validated(5).had("p", 1, 10, {w("a")}, 90, 105, 110, 113).check());
  expect_kept(validated(5).had("p", 1, 10, {w("a")}, 199, 200, 300, 310).check());
}

TEST(Observing, AWriteThatIsNotCertainIsNoChange) {
  Story story = validated(5);
  story.had("p", 1, 10, {w("z")}, 1, 2, 3, 4);
  story.ask("p", 2, 120, {w("a")}).add("p", 130, Unknown{2});
  expect_kept(story.check());
  // It was granted after all.
  story.add("p", 190, Granted{2, Stamp{11}, ms(2000), {}}).release("p", 11, 191, 192);
  expect_only(story.check(), Invariant::observing, "was granted in between");
}

// The stamps tell what the times do not.
TEST(Observing, AWriteAboveTheOneThatWasSeenIsAChange) {
  Story story = validated(10);
  story.had("p", 1, 10, {w("a")}, 10, 20, 30, 40);
  expect_kept(story.check());
  story.had("p", 2, 11, {w("a")}, 50, 120, 130, 140);
  expect_only(story.check(), Invariant::observing, "was granted in between");
}

// The answer to the write came late, when somebody had broken its hold.
TEST(Observing, AGrantThatAWriteExcludesShowsThatTheWriteCameFirst) {
  Story story = validated(5);
  story.hold("p", 1, 10, {w("a")}, 120, 250, 1000).release("b", 10, 140, 150);
  story.add("p", 260, Release{Stamp{10}}).add("p", 270, NotHeld{Stamp{10}});
  expect_kept(story.check());
  // Perhaps the write had drawn its stamp, and was granted later.
  story.had("o", 1, 11, {w("b")}, 121, 130, 140, 150);
  expect_kept(story.check());
  story.had("o", 2, 12, {r("a")}, 155, 190, 191, 192);
  expect_only(story.check(), Invariant::observing, "was granted in between");
}

TEST(Observing, TwoObservationsOfOneTraceAreLikeAValidation) {
  Story story;
  observe(story, 1, 100, 110, {saw("a", 5)});
  observe(story, 2, 200, 210, {saw("a", 5)});
  story.had("p", 1, 10, {w("a")}, 120, 130, 140, 150);
  expect_only(story.check(), Invariant::observing, "was granted in between");
}

TEST(Observing, AWriteHoldThatIsThereIsSaid) {
  Story story;
  observe(story, 1, 100, 110, {saw("a", 10)});
  story.had("p", 1, 10, {w("a")}, 10, 20, 110, 120);
  expect_kept(story.check());
  story.had("p", 2, 11, {w("c")}, 10, 20, 111, 120);
  observe(story, 2, 100, 110, {saw("c", 11)});
  expect_only(story.check(), Invariant::observing, "was said not to be written");
  Rules rules;
  rules.leases_last = false;
  expect_kept(story.check(rules));
}

// It was granted before the observation, and then it was there; or afterwards, and then it is a
// change.
TEST(Observing, AGrantThatWasUnderWayIsSaidOrIsAChange) {
  expect_only(validated(5).had("p", 1, 10, {w("a")}, 90, 130, 140, 150).check(),
              Invariant::observing, "was said not to be written");
  expect_kept(validated(5).had("p", 1, 10, {w("a")}, 90, 200, 240, 250).check());
  Story story;
  observe(story, 1, 100, 110, {saw("a", 5)});
  story.had("p", 1, 10, {w("a")}, 90, 130, 140, 150);
  expect_kept(story.check());
}

TEST(Observing, WhatWasBeingWrittenIsNeverUnchanged) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 105, 120);
  observe(story, 1, 100, 110, {saw("a", 10, true), saw("b", 3)});
  unchanged(story, 2, 1, 200, 210);
  expect_only(story.check(), Invariant::observing, "though it was being written");
}

TEST(Observing, AWriteIsNotSeenBeforeItIsAskedFor) {
  Story story;
  observe(story, 1, 100, 110, {saw("a", 10)});
  story.had("p", 1, 10, {w("a")}, 111, 120, 130, 140);
  expect_only(story.check(), Invariant::observing, "before the write that left it");
}

// q observes "a", writes by p follow, and q is granted its set on that condition.
Story granted(std::vector<Wish> set, std::int64_t stamp, std::int64_t a, std::int64_t b) {
  Story story;
  observe(story, 1, 100, 110, {saw("a", 5)});
  story.ask("q", 2, a, std::move(set), std::chrono::seconds(1)).add("q", a, Condition{2, 1});
  story.add("q", b, Granted{2, Stamp{stamp}, ms(2000), {}});
  return story.release("q", stamp, b + 10, b + 20);
}

TEST(Observing, AGrantOnAConditionMeetsIt) {
  expect_kept(granted({w("a")}, 20, 200, 210).check());
  expect_only(granted({w("a")}, 20, 200, 210).had("p", 1, 10, {w("a")}, 120, 130, 140, 150).check(),
              Invariant::observing, "was granted in between");
  EXPECT_EQ(granted({w("a")}, 20, 200, 210).check().counts.conditional, 1U);
}

// Both were under way together; the stamps say which came first.
TEST(Observing, AGrantOnAConditionWithAWriteBeforeItByTheStamps) {
  const auto with = [](std::int64_t stamp, Wish set) {
    Story story = granted({std::move(set)}, 20, 150, 250);
    return story.had("p", 1, stamp, {w("a")}, 160, 170, 180, 190).check();
  };
  expect_only(with(19, r("a")), Invariant::observing, "a stamp in between");
  expect_only(with(19, w("a")), Invariant::observing, "a stamp in between");
  // These may be there together, so their stamps say nothing.
  expect_kept(with(19, w("a", 2)));
}

TEST(Observing, AGrantOnAConditionWithAWriteBehindItByTheStamps) {
  Story story = granted({w("a")}, 20, 150, 160);
  expect_kept(story.had("p", 1, 21, {w("a")}, 155, 190, 200, 210).check());
}

TEST(Observing, AGrantOnWhatWasBeingWritten) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 10, 20, 105, 120);
  observe(story, 1, 100, 110, {saw("a", 10, true)});
  story.ask("q", 2, 200, {r("a")}).add("q", 200, Condition{2, 1});
  story.add("q", 210, Granted{2, Stamp{20}, ms(2000), {}}).release("q", 20, 220, 230);
  expect_only(story.check(), Invariant::observing, "though it was being written");
}

TEST(Observing, AChangeHasAReason) {
  const auto told = [](std::vector<Saw> now) {
    Story story;
    observe(story, 1, 100, 110, {saw("a", 5), saw("b", 6)});
    return changed(story, 2, 1, 200, 210, std::move(now));
  };
  const auto with = [](Story story, std::int64_t a, std::int64_t b) {
    return story.had("p", 1, 10, {w("a")}, a, b, b + 1, b + 2).check();
  };
  expect_kept(with(told({}), 90, 100));
  expect_kept(with(told({}), 210, 220));
  expect_kept(with(told({saw("a", 10)}), 120, 130));
  expect_only(with(told({}), 90, 99), Invariant::observing, "nobody can have written it");
  expect_only(with(told({}), 211, 220), Invariant::observing, "nobody can have written it");
  expect_only(with(told({saw("b", 10)}), 120, 130), Invariant::observing, "nobody can have");
  expect_only(with(told({saw("c", 10)}), 120, 130), Invariant::observing, "nobody can have");
  EXPECT_EQ(with(told({}), 90, 99).counts.spurious_changes, 1U);
  // A request without an answer may come late.
  Story unknown = told({});
  unknown.had("p", 1, 10, {w("z")}, 1, 2, 3, 4);
  expect_kept(unknown.ask("p", 2, 20, {w("a")}).add("p", 30, Unknown{2}).check());
}

TEST(Observing, ARefusalOfAConditionHasAReason) {
  const auto refused = [](std::int64_t a, std::int64_t b) {
    Story story;
    observe(story, 1, 100, 110, {saw("a", 5)});
    story.had("p", 1, 10, {w("a")}, a, b, b + 1, b + 2);
    story.ask("q", 2, 200, {w("a")}).add("q", 200, Condition{2, 1});
    return story.add("q", 210, Changed{2, {}}).check();
  };
  expect_kept(refused(120, 130));
  expect_only(refused(90, 99), Invariant::observing, "nobody can have written it");
}

TEST(Observing, WhoIsSaidToWriteMayBeThere) {
  const auto said = [](std::int64_t released) {
    Story story;
    story.had("p", 1, 10, {w("a")}, 10, 20, released - 1, released);
    return observe(story, 1, 100, 110, {saw("a", 10, true)}).check();
  };
  expect_kept(said(100));
  expect_only(said(99), Invariant::observing, "was said to be written");
}

TEST(Observing, WithFaultsASmallShareOfChangesHasNoReason) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 120, 130, 140, 150).add("c", 0, FaultBegin{"cut"});
  observe(story, 1, 100, 110, {saw("a", 5), saw("b", 6)});
  for (std::uint64_t op = 2; op <= 10; ++op) changed(story, op, 1, 200, 210);
  changed(story, 11, 1, 200, 210, {saw("b", 7)});
  Rules rules;
  rules.spurious_changes = 0.1;
  expect_kept(story.check(rules));
  rules.spurious_changes = 0.05;
  expect_only(story.check(rules), Invariant::observing, "op 11 of q");
}

// What a store has forgotten it can't tell.
TEST(Observing, ARestoreMayForgetAWrite) {
  const auto restored = [](std::int64_t begin, std::int64_t end, bool forgets) {
    Story story = validated(5);
    story.had("p", 1, 10, {w("a")}, 120, 130, 140, 150);
    story.add("c", begin, RestoreBegin{ms(50), ms(60), forgets}).add("c", end, RestoreEnd{});
    return story.check();
  };
  expect_kept(restored(160, 170, true));
  expect_only(restored(160, 170, false), Invariant::observing, "was granted in between");
  expect_only(restored(112, 119, true), Invariant::observing, "was granted in between");
  expect_only(restored(211, 220, true), Invariant::observing, "was granted in between");
  // It also loses what was observed.
  Story story;
  observe(story, 1, 100, 110, {saw("a", 5)});
  story.had("p", 1, 10, {w("z")}, 120, 130, 140, 150);
  story.add("c", 160, RestoreBegin{}).add("c", 170, RestoreEnd{});
  expect_kept(changed(story, 2, 1, 200, 210).check());
}

TEST(Observing, WhatIsWithoutAnAnswerSaysNothing) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 120, 130, 140, 150);
  story.add("q", 1, Observe{1}).add("q", 2, NotObserved{1}).add("q", 3, Observe{2});
  observe(story, 3, 100, 110, {saw("a", 5)});
  story.add("q", 200, Validate{4, 3}).add("q", 210, NotValidated{4}).add("q", 220, Validate{5, 3});
  const Report report = story.check();
  expect_kept(report);
  EXPECT_EQ(report.counts.observations, 3U);
  EXPECT_EQ(report.counts.unchanged + report.counts.changed, 0U);
}

std::string why_refused(const Story& story) {
  const auto report = check(story.history(), {});
  return report ? "" : report.error().message;
}

TEST(Observing, EventsThatMakeNoSense) {
  const auto expect_refused = [](const Story& story, const std::string& part) {
    EXPECT_NE(why_refused(story).find(part), std::string::npos) << why_refused(story);
  };
  Story seen;
  observe(seen, 1, 1, 2, {saw("a", 5)});
  EXPECT_EQ(why_refused(seen), "");
  expect_refused(Story(seen).add("q", 3, Observe{1}), "op=1 is there twice");
  expect_refused(Story(seen).ask("q", 1, 3, {w("a")}), "op=1 is there twice");
  expect_refused(Story(seen).add("q", 3, Observed{1, {}}), "op=1 was answered before");
  expect_refused(Story(seen).add("q", 3, NotObserved{1}), "op=1 was answered before");
  expect_refused(Story(seen).add("q", 3, Validate{2, 7}), "op=7 was never asked");
  expect_refused(Story(seen).add("q", 3, Unchanged{1}), "op=1 was never asked");
  expect_refused(Story(seen).add("p", 3, Validate{1, 1}), "op=1 was never asked");
  expect_refused(Story().add("q", 3, Observe{1}).add("q", 4, Validate{2, 1}),
                 "since=1 has seen nothing");
  expect_refused(Story(seen).ask("q", 2, 3, {w("a")}).add("q", 4, Changed{2, {}}),
                 "op=2 has no condition");
  expect_refused(Story(seen).add("q", 3, Condition{2, 1}), "op=2 was never asked");
  expect_refused(unchanged(seen, 2, 1, 3, 4).add("q", 5, Changed{2, {}}),
                 "op=2 was answered before");
}

}  // namespace
}  // namespace lockset::history
