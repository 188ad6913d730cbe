// SEM 28: acquiring on the condition that nothing changed since an observation.
#include <algorithm>
#include <atomic>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Condition : public Conformance {
 protected:
  bool cannot() { return skip_unless(traits().observing, "observing"); }
};

// SEM 28
TEST_P(Condition, ThatIsMetIsGranted) {
  if (cannot()) return;
  Client c = client();
  const std::vector<Trace> seen = c.observe({"a", "b"});
  const Grant grant =
      c.take({write("a"), read("b"), write("c")},
             {.unchanged_since = {{0, seen[0].last_write}, {1, seen[1].last_write}}});
  EXPECT_EQ(c.observe_one("a").last_write, grant.stamp);
  EXPECT_EQ(c.observe_one("b").last_write, seen[1].last_write);
}

// SEM 28: what changed, by whom and when; and nothing is left behind
TEST_P(Condition, ThatIsNotMetIsRefusedWithTheWrite) {
  if (cannot()) return;
  Client c = client();
  const Trace seen = c.observe_one("b");
  Client writer(open(), "writer");
  writer.set_label("sam@office");
  const Grant write_b = writer.take({write("b")});
  ASSERT_TRUE(writer.release(write_b.stamp));
  const Token token = Token::random();
  const Changed changed = c.meet_changed(
      {write("a"), write("b")}, {.token = token, .unchanged_since = {{1, seen.last_write}}});
  EXPECT_EQ(changed.item, 1U);
  EXPECT_EQ(changed.trace.last_write, write_b.stamp);
  EXPECT_EQ(changed.trace.label, "sam@office");
  ASSERT_TRUE(changed.trace.age_us);
  EXPECT_GE(*changed.trace.age_us, 0);
  EXPECT_TRUE(space().look().empty());
  EXPECT_FALSE(c.resolve(token));
  EXPECT_EQ(c.observe_one("b").last_write, write_b.stamp);
  EXPECT_TRUE(c.take({write("a"), write("b")}).stamp);
}

// SEM 28: a name that nobody observed may have changed
TEST_P(Condition, OnANameWithoutATraceIsNotMet) {
  if (cannot()) return;
  Client c = client();
  const Grant grant = c.take({write("a")});
  ASSERT_TRUE(c.release(grant.stamp));
  EXPECT_FALSE(
      c.meet_changed({write("a")}, {.unchanged_since = {{0, grant.stamp}}}).trace.last_write);
  EXPECT_FALSE(c.meet_changed({write("a")}, {.unchanged_since = {{0, Stamp{}}}}).trace.last_write);
}

// SEM 28: waiting would be pointless
TEST_P(Condition, ComesBeforeBusy) {
  if (cannot()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  Client writer(open(), "writer");
  const Grant grant = writer.take({write("a"), write("b")});
  EXPECT_EQ(
      c.meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}}).trace.last_write,
      grant.stamp);
  // Busy is what an unbroken condition meets.
  const Trace of_c = c.observe_one("c");
  c.meet_busy({write("b"), write("c")}, {.unchanged_since = {{1, of_c.last_write}}});
}

// SEM 7, 28
TEST_P(Condition, ComesAfterStale) {
  if (cannot()) return;
  Client c = client();
  c.observe_one("a");
  Client(open(), "other").set_permits("a", Mode::read, 2);
  const Result<AcquireOutcome> outcome =
      c.ask_once({write("a")}, {.unchanged_since = {{0, Stamp{1}}}});
  ASSERT_TRUE(outcome) << test::describe(outcome);
  EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
}

// SEM 28: a condition on what is only read
TEST_P(Condition, MayBeOnARead) {
  if (cannot()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const Grant reader = c.take({read("a")}, {.unchanged_since = {{0, seen.last_write}}});
  ASSERT_TRUE(c.release(reader.stamp));
  EXPECT_TRUE(c.release(c.take({read("a")}, {.unchanged_since = {{0, seen.last_write}}}).stamp));
  const Grant writer = c.take({write("a")}, {.unchanged_since = {{0, seen.last_write}}});
  ASSERT_TRUE(c.release(writer.stamp));
  c.meet_changed({read("a")}, {.unchanged_since = {{0, seen.last_write}}});
}

// SEM 28: an expired hold is in nobody's way, and what it wrote is a change
TEST_P(Condition, AnExpiredWriteIsAChange) {
  if (cannot()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const Grant brief = c.take({write("a")}, {.lease = 20ms});
  ASSERT_TRUE(expired(c, {brief}));
  c.meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}});
  EXPECT_TRUE(c.take({write("a")}, {.unchanged_since = {{0, brief.stamp}}}).stamp);
}

// SEM 14, 28: delivered twice
TEST_P(Condition, ATokenHasOneHold) {
  if (cannot()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const Ask ask{.token = Token::random(), .unchanged_since = {{0, seen.last_write}}};
  const Grant grant = c.take({write("a")}, ask);
  const Result<AcquireOutcome> again = c.ask({write("a")}, ask);
  ASSERT_TRUE(again) << test::describe(again);
  if (const Grant* same = std::get_if<Grant>(&*again)) {
    EXPECT_EQ(same->stamp, grant.stamp);
  }
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_EQ(c.observe_one("a").last_write, grant.stamp);
}

// SEM 28: a waiter whose condition breaks does not wait on, and leaves the line
TEST_P(Condition, MayBreakWhileOneWaits) {
  if (cannot()) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  const Trace seen = waiter.observe_one("a");
  const Grant on_b = holder.take({write("b")});
  const std::vector<Expected> condition{{0, seen.last_write}};
  const Busy busy =
      waiter.meet_busy({write("a"), write("b")}, {.will_wait = true, .unchanged_since = condition});
  ASSERT_TRUE(busy.ticket);
  const Grant on_a = holder.take({write("a")});
  ASSERT_TRUE(holder.release(on_a.stamp));
  waiter.meet_changed({write("a"), write("b")},
                      {.will_wait = true, .ticket = busy.ticket, .unchanged_since = condition});
  EXPECT_TRUE(holder.inspect().waiters.empty());
  ASSERT_TRUE(holder.release(on_b.stamp));
}

// SEM 13, 28: nothing is kept for a waiter whose condition broke
TEST_P(Condition, ThatBreaksFreesWhatWasKept) {
  if (cannot()) return;
  if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  Client holder = client("holder");
  holder.change(SetMaxOvertakes{0});
  Client waiter(open(), "waiter");
  const Trace seen = waiter.observe_one("a");
  const Grant on_b = holder.take({write("b")});
  const Grant on_a = holder.take({read("a")});
  const std::vector<Expected> condition{{0, seen.last_write}};
  const Busy busy = waiter.meet_busy({write("a"), write("b"), write("c")},
                                     {.will_wait = true, .unchanged_since = condition});
  ASSERT_TRUE(busy.ticket);
  holder.meet_busy({write("c")});  // kept for the waiter
  ASSERT_TRUE(holder.release(on_a.stamp));
  // Nobody may write "a" before it, so a raised base breaks its condition.
  holder.change(RaiseStampBase{{seen.last_write.value + 5'000'000'000'000}});
  waiter.meet_changed({write("a"), write("b"), write("c")},
                      {.will_wait = true, .ticket = busy.ticket, .unchanged_since = condition});
  EXPECT_TRUE(holder.take({write("c"), write("a")}).stamp);
  ASSERT_TRUE(holder.release(on_b.stamp));
}

// SEM 28: decided in the granting step. All ask on the same observation, and one is granted.
TEST_P(Condition, OnlyOneOfManyIsGranted) {
  if (cannot()) return;
  constexpr std::size_t threads = 4;
  const int all = rounds(100, 25);
  std::vector<std::shared_ptr<Backend>> stores;
  for (std::size_t i = 0; i < threads; ++i) stores.push_back(open());
  Client observer = client("observer");
  for (int round = 0; round < all && !HasFailure(); ++round) {
    const std::string name = "name " + std::to_string(round % 5);
    const Trace seen = observer.observe_one(name);
    std::atomic<int> granted = 0;
    std::atomic<int> changed = 0;
    run_threads(threads, [&](std::size_t i) {
      Client c(stores[i], "app " + std::to_string(i));
      const auto ask = [&] {
        return c.ask({write(name)}, {.unchanged_since = {{0, seen.last_write}}});
      };
      Result<AcquireOutcome> outcome = ask();
      // Of a part of another's attempt, if that takes two steps.
      while (outcome && std::holds_alternative<Busy>(*outcome)) outcome = ask();
      ASSERT_TRUE(outcome) << test::describe(outcome);
      granted += std::holds_alternative<Grant>(*outcome) ? 1 : 0;
      changed += std::holds_alternative<Changed>(*outcome) ? 1 : 0;
      if (const Grant* grant = std::get_if<Grant>(&*outcome)) c.release(grant->stamp);
    });
    EXPECT_EQ(granted, 1);
    EXPECT_EQ(changed, static_cast<int>(threads) - 1);
  }
}

// SEM 28: compare and swap. Nobody reads under a lock, and no update is lost.
TEST_P(Condition, NoUpdateIsLost) {
  if (cannot()) return;
  constexpr std::size_t threads = 4;
  const int updates_each = rounds(100, 20);
  std::atomic<int> content = 0;
  std::atomic<int> collisions = 0;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open(), "app " + std::to_string(i));
    for (int done = 0; done < updates_each && !progress.stuck();) {
      const TimePoint asked = BootClock::now();
      const Trace seen = c.observe_one("a");
      const int read = content;
      linger(100us);  // it works on it
      const Result<AcquireOutcome> outcome =
          seen.being_written ? Result<AcquireOutcome>(AcquireOutcome(Changed{0, seen}))
                             : c.ask({write("a")}, {.unchanged_since = {{0, seen.last_write}}});
      const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
      if (grant == nullptr) {
        ++collisions;
        pause_after_try(asked);
        continue;
      }
      content = read + 1;
      c.release(grant->stamp);
      ++done;
      progress.step();
    }
  });
  EXPECT_EQ(content, static_cast<int>(threads) * updates_each);
  RecordProperty("collisions", collisions.load());
}

// --- the public interface ---

template <class T>
Error failure_of(const Result<T>& result) {
  if (result) throw std::runtime_error("expected an error, got success");
  return result.error();
}

// SEM 28: for people
TEST_P(Condition, TheErrorSaysWhatChangedByWhomAndWhen) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other", .label = "sam@office"});
  const Observation seen = mine.observe({"invoice/17", "b"}).value();
  const Stamp stamp = other.acquire({write("invoice/17")}).value().stamp();
  const Wanted wanted{write("invoice/17"), read("b")};
  for (const Error& error : {failure_of(mine.acquire(wanted, {.unchanged_since = seen})),
                             failure_of(mine.try_acquire(wanted, {.unchanged_since = seen})),
                             failure_of(mine.try_locks(wanted, {.unchanged_since = seen})),
                             failure_of(mine.acquire_locks(wanted, {.unchanged_since = seen}))}) {
    EXPECT_EQ(error.code, Errc::changed) << error.message;
    EXPECT_FALSE(error.retryable());
    EXPECT_FALSE(error.may_have_applied());
    for (const std::string& part : {std::string("\"invoice/17\""), std::string("sam@office"),
                                    std::to_string(stamp.value), std::string(" ago")}) {
      EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    }
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(space().look().empty());
}

// SEM 28
TEST_P(Condition, ThatIsMetGivesAHold) {
  if (cannot()) return;
  Locks mine = locks();
  const Observation seen = mine.observe({"a"}).value();
  Hold hold = mine.acquire({write("a"), write("b")}, {.unchanged_since = seen}).value();
  EXPECT_TRUE(hold.valid());
  ASSERT_TRUE(hold.release());
  EXPECT_EQ(failure_of(mine.acquire({write("a")}, {.unchanged_since = seen})).code, Errc::changed)
      << "an own write is a write";
}

// SEM 28: a try meets contention where the condition is met
TEST_P(Condition, ATryIsBusyWhereNothingChanged) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  Hold reader = other.acquire({read("a")}).value();
  const Observation seen = mine.observe({"a"}).value();
  EXPECT_FALSE(mine.try_acquire({write("a")}, {.unchanged_since = seen}).value());
  ASSERT_TRUE(reader.release());
  EXPECT_TRUE(mine.try_acquire({write("a")}, {.unchanged_since = seen}).value());
}

// SEM 27, 28
TEST_P(Condition, WhatWasBeingWrittenIsRefused) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  mine.observe({"a"}).value();
  Hold hold = other.acquire({write("a")}).value();
  const Observation seen = mine.observe({"a"}).value();
  ASSERT_TRUE(hold.release());
  EXPECT_EQ(failure_of(mine.acquire({write("a")}, {.unchanged_since = seen})).code, Errc::changed);
}

// SEM 28: all that the condition names is in the set
TEST_P(Condition, NamesOnlyItemsOfTheSet) {
  if (cannot()) return;
  Locks mine = locks();
  const Observation seen = mine.observe({"a", "b"}).value();
  const Error error = failure_of(mine.acquire({write("a")}, {.unchanged_since = seen}));
  EXPECT_EQ(error.code, Errc::invalid);
  EXPECT_NE(error.message.find("take it as read"), std::string::npos) << error.message;
  EXPECT_TRUE(mine.acquire({write("a"), read("b")}, {.unchanged_since = seen}));
}

// SEM 13, 28
TEST_P(Condition, AWaitEndsWhenItBreaks) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  const Observation seen = mine.observe({"a"}).value();
  Hold on_b = other.acquire({write("b")}).value();
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      const Error error =
          failure_of(mine.acquire({write("a"), write("b")}, {.unchanged_since = seen}));
      EXPECT_EQ(error.code, Errc::changed) << error.message;
      return;
    }
    // Before the waiter asks, or while it waits.
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(other.acquire({write("a")}));
    }
  });
  EXPECT_TRUE(on_b.valid());
}

LOCKSET_CONFORMANCE_SUITE(Condition);

}  // namespace
}  // namespace lockset::conformance
