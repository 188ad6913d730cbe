// I7 and I8: SEM 13, 14
#include <functional>

#include "tests/history/story.h"

namespace lockset::history {
namespace {

using std::chrono::seconds;

// Checks only that calls return: how long a set was free does not matter.
Rules patient() {
  Rules rules;
  rules.idle = seconds(100);
  return rules;
}
Story waited(std::int64_t returned, What outcome = TimedOut{1}) {
  Story story;
  story.add("c", 0, End{}).ask("p", 1, 1000, {w("a")}, seconds(5));
  return story.add("p", returned, std::move(outcome));
}

TEST(Liveness, AnAcquireReturnsWhenItsWaitIsOver) {
  expect_kept(waited(16000).check(patient()));
  expect_only(waited(16001).check(patient()), Invariant::liveness, "its wait was over at 6000 ms");
}

TEST(Liveness, AnAcquireThatNeverReturnsIsFound) {
  Story story;
  story.ask("p", 1, 1000, {w("a")}, seconds(5));
  expect_kept(Story(story).add("p", 15999, Lost{Stamp{1}}).check(patient()));
  expect_kept(
      Story(story).add("p", 16001, Lost{Stamp{1}}).add("c", 2000, Kill{"p"}).check(patient()));
  const Report report = Story(story).add("p", 16001, Lost{Stamp{1}}).check(patient());
  expect_only(report, Invariant::liveness, "never answered");
}

TEST(Liveness, TheStoppedReturnWhenTheyGoOn) {
  const auto stopped = [](std::int64_t returned) {
    Story story = waited(returned);
    return story.add("c", 2000, Stop{"p"}).add("c", 10000, Cont{"p"}).check(patient());
  };
  expect_kept(stopped(20000));
  expect_only(stopped(20001), Invariant::liveness, "did not return by 20000 ms");
}

// A store that frees the dead's holds at once: whoever waits for them longer waits for what is
// free.
TEST(Liveness, WhatTheDeadHeldIsFreeAtOnceIfTheStoreSaysSo) {
  const auto waits_for_the_dead = [](Duration freed) {
    Story story;
    story.add("dead", 0, Ask{1, {w("a")}, seconds(60), {}});
    story.add("dead", 10, Granted{1, Stamp{10}, ms(50000), {}}).add("c", 1000, Kill{"dead"});
    story.ask("p", 1, 500, {w("a")}, seconds(30));
    story.add("p", 20000, Granted{1, Stamp{20}, ms(21000), {}}).add("p", 20500, Lost{Stamp{20}});
    Rules rules;
    rules.freed_after_kill = freed;
    rules.records_lost = false;
    return story.check(rules);
  };
  expect_kept(waits_for_the_dead(Duration::max()));
  expect_kept(waits_for_the_dead(seconds(10)));
  expect_only(waits_for_the_dead(seconds(1)), Invariant::liveness, "waited for what was free");
}

// p gets this answer once a second, from 1000 to 1000 * `times`.
Story told(std::int64_t times, const std::function<What(std::uint64_t op)>& answer) {
  Story story;
  story.had("h", 1, 9, {w("a")}, 0, 1, 900, 1000);
  for (std::int64_t i = 1; i <= times; ++i) {
    const auto op = static_cast<std::uint64_t>(i);
    story.ask("p", op, 1000 * i - 10, {w("a")}).add("p", 1000 * i, answer(op));
  }
  return story;
}
What refusal(std::uint64_t op) { return Refused{op}; }

TEST(Liveness, WhoeverGoesOnAskingIsServedAgain) {
  expect_kept(told(11, refusal).check());
  expect_only(told(12, refusal).check(), Invariant::liveness,
              "p was told nothing but errors from 1000 ms to 12000 ms");
  expect_only(told(12, [](std::uint64_t op) { return Unknown{op}; }).check(), Invariant::liveness,
              "nothing but errors");
}

TEST(Liveness, AnAnswerInBetweenIsService) {
  const auto with = [](const What& answer) {
    return told(20, [&](std::uint64_t op) { return op == 10 ? answer : refusal(op); });
  };
  expect_kept(with(Granted{10, Stamp{10}, ms(20000), {}}).check());
  Story busy = with(Busy{10, "a", Stamp{11}});
  expect_kept(busy.had("h", 2, 11, {w("a")}, 9980, 9981, 10020, 10021).check());
  expect_only(with(TimedOut{10}).check(), Invariant::liveness, "nothing but errors");
}

TEST(Liveness, WhoIsToBeRefusedIsToldNothingButErrors) {
  Story fault = told(21, refusal);
  Rules rules;
  rules.refused = {"q"};
  expect_only(fault.check(rules), Invariant::liveness, "nothing but errors");
  rules.refused = {"p"};
  expect_kept(fault.check(rules));
}

TEST(Liveness, TroubleAndStopsPutItOff) {
  Story fault = told(20, refusal);
  fault.add("c", 2000, FaultBegin{"cut"}).add("c", 9999, FaultEnd{"cut"});
  expect_kept(fault.check());
  Rules rules;
  rules.outage = seconds(15);
  expect_only(fault.check(rules), Invariant::liveness, "nothing but errors from 1000 ms");
  fault.add("c", 3000, Stop{"p"}).add("c", 9000, Cont{"p"});
  expect_kept(fault.check(rules));
  Story early = told(21, refusal);
  early.add("c", 2000, FaultBegin{"cut"}).add("c", 9999, FaultEnd{"cut"});
  expect_only(early.check(), Invariant::liveness, "all trouble was over at 9999 ms");
}

// h releases "a" at 1000; p waits for it from 0 on.
Story waiting(std::int64_t granted) {
  Story story;
  story.had("h", 1, 9, {w("a")}, 0, 1, 900, 1000);
  story.ask("p", 1, 0, {w("a"), w("b")}, seconds(60));
  return story.add("p", granted, Granted{1, Stamp{11}, ms(100000), {}});
}

TEST(Liveness, NobodyWaitsForLongForWhatIsFree) {
  expect_kept(waiting(11000).check());
  expect_only(waiting(11002).check(), Invariant::liveness, "waited for what was free");
  expect_only(
      waiting(11002).ask("q", 1, 500, {w("a")}, seconds(60)).add("q", 10900, TimedOut{1}).check(),
      Invariant::liveness, "waited for what was free");
}

TEST(Liveness, ButForWhatIsTakenOneMayWait) {
  Story story = waiting(20000);
  story.had("h", 2, 10, {w("b")}, 8000, 8001, 9900, 10000);
  expect_kept(story.check());
}

TEST(Liveness, FaultsDelayIt) {
  expect_kept(waiting(20000).add("c", 2000, FaultBegin{"cut"}).check());
  const auto until = [](std::int64_t end) {
    return waiting(20000).add("c", 2000, FaultBegin{"cut"}).add("c", end, FaultEnd{"cut"}).check();
  };
  expect_kept(until(10000));
  expect_only(until(9999), Invariant::liveness, "from 9999 ms to 20000 ms");
}

// h releases "a" at 1000; p, which waits for it, gets it at `granted`; q, which did not have to
// wait, is no wake-up. Repeated until there are `times` wake-ups.
Story woken(std::int64_t granted, std::int64_t times = 1) {
  Story story;
  for (std::int64_t i = 0; i < times; ++i) {
    const std::int64_t t = 10000 * i;
    const auto op = static_cast<std::uint64_t>(i);
    story.had("h", op, 10 * i + 1, {w("a"), w("c")}, t, t + 1, t + 900, t + 1000);
    story.ask("p", op, t + 500, {w("a"), w("b")}, seconds(60));
    // The last ones are late.
    const std::int64_t at = t + (i + 1 == times ? granted : 1010);
    story.add("p", at, Granted{op, Stamp{10 * i + 5}, ms(at + 900), {}});
    story.release("p", 10 * i + 5, at + 10, at + 20);
    story.ask("q", op, t + 5000, {w("c")}, seconds(60));
    story.add("q", t + 5400, Granted{op, Stamp{10 * i + 9}, ms(t + 9000), {}});
    story.release("q", 10 * i + 9, t + 5500, t + 5600);
  }
  return story;
}

TEST(Liveness, WakeupsAreCountedAndHowManyWereLate) {
  const auto late = [](const Story& story) {
    const Report report = story.check();
    expect_kept(report);
    EXPECT_EQ(report.counts.wakeups, 1U);
    return report.counts.late_wakeups;
  };
  EXPECT_EQ(late(woken(1250)), 0U);
  EXPECT_EQ(late(woken(1251)), 1U);
  // Another process was faster: what counts is when it was free again.
  EXPECT_EQ(late(woken(1500).had("n", 1, 3, {w("b")}, 1100, 1110, 1240, 1250)), 0U);
  EXPECT_EQ(late(woken(1500).had("n", 1, 3, {w("d")}, 1100, 1110, 1240, 1250)), 1U);
}

TEST(Liveness, WhereWakeupsAreExpectedNearlyAllAreInTime) {
  const auto expecting = [](Story story, std::uint64_t wakeups) {
    return story.add("c", 0, Expect{.wakeups = wakeups});
  };
  expect_only(expecting(woken(1251), 1).check(), Invariant::liveness,
              "free from 1000.000001 ms on");
  expect_only(expecting(woken(1251, 999), 1).check(), Invariant::liveness, "woken late");
  const Report borne = expecting(woken(1251, 1000), 1000).check();
  EXPECT_TRUE(borne.kept());
  EXPECT_EQ(borne.counts.late_wakeups, 1U);
  EXPECT_FALSE(expecting(woken(1250, 999), 1000).check().vacuous.empty());
  // With faults they are only counted.
  EXPECT_TRUE(expecting(woken(1251), 1).add("c", 700, Kill{"n"}).check().kept());
}

TEST(Liveness, WhenPermitsChangeMeanwhileNobodyKnowsWhatWasFree) {
  const auto wakeups = [](std::int64_t begin, std::int64_t end) {
    Story story = woken(1251);
    story.add("c", begin, PermitsBegin{"a", 1, 1}).add("c", end, PermitsEnd{"a", 1, 1});
    return story.check().counts.wakeups;
  };
  EXPECT_EQ(wakeups(400, 499), 1U);
  EXPECT_EQ(wakeups(400, 500), 0U);
  EXPECT_EQ(wakeups(1251, 1300), 0U);
  EXPECT_EQ(wakeups(1252, 1300), 1U);
}

TEST(Leaks, NothingLeftIsKept) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 2, 3).add("c", 9000, End{});
  expect_kept(story.check());
}

TEST(Leaks, AnythingLeftIsNot) {
  const auto left = [](End end) {
    Story story;
    return story.had("p", 1, 10, {w("a")}, 0, 1, 2, 3).add("c", 9000, end).check();
  };
  expect_only(left({.holds = 1}), Invariant::leaks, "1 holds left at 9000 ms");
  expect_only(left({.waiters = 2}), Invariant::leaks, "2 waiters left");
  expect_only(left({.connections = 3}), Invariant::leaks, "3 connections left");
}

}  // namespace
}  // namespace lockset::history
