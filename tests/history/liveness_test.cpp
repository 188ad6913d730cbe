// I7 and I8: SEM 13, 14
#include "tests/history/story.h"

namespace lockset::history {
namespace {

using std::chrono::seconds;

// Of returning alone: how long something was free does not matter.
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

// h gives "a" back at 1000; p waits for it from 0 on.
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
