// SEM 27: observing names and validating it later.
#include <algorithm>
#include <atomic>
#include <set>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Observing : public Conformance {
 protected:
  // True, with the reason on record, for a store that can't observe.
  bool cannot() { return skip_unless(traits().observing, "observing"); }
};

bool same(const Trace& one, const Trace& other) { return one.last_write == other.last_write; }

// SEM 27: a store that can't do it says so, in one line
TEST_P(Observing, IsRefusedWhereTheStoreKeepsNoTraces) {
  if (skip_unless(!traits().observing, "no observing, which is what this refuses")) return;
  Locks mine = locks();
  const Observation seen = Observation::make({{"a", Stamp{17}}}).value();
  for (const Result<Hold>& refused : {mine.acquire({write("a")}, {.unchanged_since = seen})}) {
    EXPECT_EQ(code_of(refused), Errc::unsupported);
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(code_of(mine.observe({"a"})), Errc::unsupported);
  EXPECT_EQ(code_of(mine.validate(seen)), Errc::unsupported);
  EXPECT_EQ(code_of(mine.try_acquire({write("a")}, {.unchanged_since = seen})), Errc::unsupported);
  EXPECT_TRUE(mine.acquire({write("a")}));
}

// SEM 27
TEST_P(Observing, ANameThatNobodyWritesStaysAsItIs) {
  if (cannot()) return;
  Client c = client();
  const Trace first = c.observe_one("a");
  EXPECT_TRUE(first.last_write);
  EXPECT_FALSE(first.being_written);
  EXPECT_EQ(first.label, "");
  EXPECT_FALSE(first.age_us);
  Client other(open(), "other");
  EXPECT_TRUE(same(other.observe_one("a"), first));
  EXPECT_TRUE(same(c.observe_one("a"), first));
}

// SEM 27: nothing is held, and nobody waits for the observer
TEST_P(Observing, HoldsNothing) {
  if (cannot()) return;
  Client c = client();
  c.observe({"a", "b"});
  EXPECT_TRUE(c.holds().empty());
  EXPECT_TRUE(Client(open(), "other").take({write("a"), write("b")}).stamp);
}

// SEM 27: with whom it was, and when
TEST_P(Observing, AWriteGrantChangesIt) {
  if (cannot()) return;
  Client c = client();
  const Trace before = c.observe_one("a");
  Client writer(open(), "writer");
  writer.set_label("sam@office");
  const Stopwatch watch;
  const Grant grant = writer.take({write("a")});
  const Trace during = c.observe_one("a");
  EXPECT_EQ(during.last_write, grant.stamp);
  EXPECT_GT(grant.stamp, before.last_write);
  EXPECT_TRUE(during.being_written);
  ASSERT_TRUE(writer.release(grant.stamp));
  const Trace after = c.observe_one("a");
  EXPECT_EQ(after.last_write, grant.stamp);
  EXPECT_FALSE(after.being_written);
  EXPECT_EQ(after.label, "sam@office");
  ASSERT_TRUE(after.age_us);
  EXPECT_GE(*after.age_us, 0);
  EXPECT_LE(std::chrono::microseconds(*after.age_us), watch.elapsed() + 10s);
}

// SEM 27: a write that was over before the first observation is not missed later, and one that
// nobody could have seen is no change
TEST_P(Observing, ATraceBeginsAboveEveryGrantBefore) {
  if (cannot()) return;
  Client c = client();
  const Grant own = c.take({write("a")});
  ASSERT_TRUE(c.release(own.stamp));
  const Grant other = c.take({write("b"), read("c")});
  const Trace first = c.observe_one("a");
  EXPECT_GE(first.last_write, other.stamp);
  const Grant next = c.take({write("a")});
  EXPECT_GT(next.stamp, first.last_write);
  EXPECT_EQ(c.observe_one("a").last_write, next.stamp);
}

// SEM 27
TEST_P(Observing, ReadsChangeNothing) {
  if (cannot()) return;
  Client c = client();
  const Trace before = c.observe_one("a");
  const Grant reader = c.take({read("a"), write("b")});
  const Trace during = c.observe_one("a");
  EXPECT_TRUE(same(during, before));
  EXPECT_FALSE(during.being_written);
  EXPECT_TRUE(c.renew(reader.stamp, 2min));
  ASSERT_TRUE(c.release(reader.stamp));
  EXPECT_TRUE(same(c.observe_one("a"), before));
}

// SEM 2, 27: each name has its own trace
TEST_P(Observing, OtherNamesChangeNothing) {
  if (cannot()) return;
  Client c = client();
  const std::vector<std::string> names{"A", "a", "a ", "a/b", "aa"};
  const std::vector<Trace> before = c.observe(names);
  const Grant grant = c.take({write("a ")});
  const std::vector<Trace> after = c.observe(names);
  ASSERT_EQ(after.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    EXPECT_EQ(same(after[i], before[i]), names[i] != "a ");
    EXPECT_EQ(after[i].being_written, names[i] == "a ");
  }
}

// SEM 27: release, expiry and breaking say nothing new, and neither does a busy answer
TEST_P(Observing, OnlyAGrantChangesIt) {
  if (cannot()) return;
  Client c = client();
  c.observe_one("a");
  const Grant first = c.take({write("a")});
  EXPECT_TRUE(c.renew(first.stamp, 2min));
  Client(open(), "other").meet_busy({write("a")});
  EXPECT_EQ(c.observe_one("a").last_write, first.stamp);
  ASSERT_TRUE(c.release(first.stamp));
  EXPECT_EQ(c.observe_one("a").last_write, first.stamp);
  const Grant second = c.take({write("a")});
  ASSERT_TRUE(c.break_hold(second.stamp));
  EXPECT_EQ(c.observe_one("a").last_write, second.stamp);
  const Grant third = c.take({write("a")}, {.lease = 20ms});
  ASSERT_TRUE(expired(c, {third}));
  EXPECT_EQ(c.observe_one("a").last_write, third.stamp);
  // Although nobody else comes who would remove the hold.
  ASSERT_TRUE(eventually([&] { return !c.observe_one("a").being_written; }));
  EXPECT_EQ(c.observe_one("a").last_write, third.stamp);
}

// SEM 27: the observation began under the hold
TEST_P(Observing, AHoldFromBeforeTheTraceIsSeen) {
  if (cannot()) return;
  Client c = client();
  const Grant grant = c.take({write("a")});
  const Trace during = c.observe_one("a");
  EXPECT_TRUE(during.being_written);
  EXPECT_GE(during.last_write, grant.stamp);
  ASSERT_TRUE(c.release(grant.stamp));
  const Trace after = c.observe_one("a");
  EXPECT_FALSE(after.being_written);
  EXPECT_TRUE(same(after, during));
}

// SEM 4, 27: with several writers at once it is the last one
TEST_P(Observing, OfSeveralWritersTheLastGrantCounts) {
  if (cannot()) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 2);
  c.observe_one("a");
  const Grant one = c.take({write("a")});
  const Grant two = c.take({write("a"), write("b")});
  EXPECT_EQ(c.observe_one("a").last_write, two.stamp);
  ASSERT_TRUE(c.release(one.stamp));
  EXPECT_TRUE(c.observe_one("a").being_written);
  ASSERT_TRUE(c.release(two.stamp));
  EXPECT_EQ(c.observe_one("a").last_write, two.stamp);
  EXPECT_FALSE(c.observe_one("a").being_written);
}

// SEM 3, 27
TEST_P(Observing, AsManyNamesAsASetMayHave) {
  if (cannot()) return;
  Client c = client();
  std::vector<std::string> names;
  Wanted wanted;
  for (std::size_t i = 0; i < max_set_size; ++i) {
    names.push_back("name " + std::to_string(1000 + i));
    if (i % 2 == 0) wanted.push_back(write(names.back()));
  }
  const std::vector<Trace> before = c.observe(names);
  ASSERT_EQ(before.size(), names.size());
  const Grant grant = c.take(wanted);
  const std::vector<Trace> after = c.observe(names);
  ASSERT_EQ(after.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(after[i].last_write, i % 2 == 0 ? grant.stamp : before[i].last_write) << names[i];
    ASSERT_EQ(after[i].being_written, i % 2 == 0) << names[i];
  }
}

// SEM 7: an observation from an old configuration is not made
TEST_P(Observing, KnowsItsConfiguration) {
  if (cannot()) return;
  Client c = client();
  c.observe_one("a");
  c.set_permits("a", Mode::read, 2);
  const std::vector<std::string> names{"a"};
  const ObserveOutcome old = c.backend().observe({names, c.config().version - 1, soon()}).value();
  EXPECT_TRUE(std::holds_alternative<Stale>(old));
  // Another client has changed it.
  Client other(open(), "other");
  other.set_permits("b", Mode::read, 2);
  const ObserveOutcome stale = c.backend().observe({names, c.config().version, soon()}).value();
  EXPECT_TRUE(std::holds_alternative<Stale>(stale));
  c.reload();
  Locks mine = locks();
  c.set_permits("a", Mode::read, 3);
  const Observation seen = mine.observe({"a"}).value();
  c.set_permits("a", Mode::read, 4);
  EXPECT_TRUE(mine.validate(seen).value());
}

// SEM 8, 27: a base above the last write says that later writes may be missing
TEST_P(Observing, ARaisedStampBaseChangesIt) {
  if (cannot()) return;
  Client c = client();
  c.observe_one("a");
  const Grant grant = c.take({write("a")});
  ASSERT_TRUE(c.release(grant.stamp));
  const Stamp base{grant.stamp.value + 5'000'000'000'000};
  c.change(RaiseStampBase{base});
  const Trace raised = c.observe_one("a");
  EXPECT_GE(raised.last_write, base);
  EXPECT_EQ(raised.label, "");
  EXPECT_TRUE(same(c.observe_one("a"), raised));
  c.take({write("b")}, {.unchanged_since = {}});
  EXPECT_EQ(c.meet_changed({write("a")}, {.unchanged_since = {{0, grant.stamp}}}).item, 0U);
  EXPECT_GT(c.take({write("a")}, {.unchanged_since = {{0, raised.last_write}}}).stamp, base);
}

// SEM 27: what was swept counts as changed
TEST_P(Observing, ATraceThatIsGoneCountsAsChanged) {
  if (cannot()) return;
  Client c = client();
  const Trace before = c.observe_one("a");
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  EXPECT_TRUE(same(c.observe_one("a"), before));
  std::size_t removed = 0;
  while (const std::size_t some = c.backend().sweep_traces(Duration::zero(), soon()).value()) {
    removed += some;
  }
  EXPECT_EQ(removed, 1U);
  const Changed gone = c.meet_changed({write("a")}, {.unchanged_since = {{0, before.last_write}}});
  EXPECT_FALSE(gone.trace.last_write);
  EXPECT_GT(c.observe_one("a").last_write, before.last_write);
}

// SEM 1, 27
TEST_P(Observing, AnotherSpaceHasOtherTraces) {
  if (cannot()) return;
  Client c = client();
  const Trace here = c.observe_one("a");
  const std::unique_ptr<Space> fresh = harness().new_space();
  Client there(std::shared_ptr<Backend>(fresh->open().value()));
  EXPECT_FALSE(same(there.observe_one("a"), here));
  there.take({write("a")});
  EXPECT_TRUE(same(c.observe_one("a"), here));
}

// --- the public interface ---

// SEM 27
TEST_P(Observing, WhatNobodyWroteIsValid) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other", .label = "sam@office"});
  const Observation seen = mine.observe({"b", "a", "b"}).value();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen.items()[0].name, "a");
  EXPECT_TRUE(mine.validate(seen).value());
  EXPECT_TRUE(other.validate(Observation::parse(seen.to_string()).value()).value());
  EXPECT_TRUE(mine.changes_since(seen).value().empty());

  const Stamp stamp = other.acquire({write("b")}).value().stamp();  // released at once
  EXPECT_FALSE(mine.validate(seen).value());
  const std::vector<Change> changes = mine.changes_since(seen).value();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].name, "b");
  EXPECT_EQ(changes[0].stamp, stamp);
  EXPECT_EQ(changes[0].label, "sam@office");
  EXPECT_FALSE(changes[0].was_being_written);
  ASSERT_TRUE(changes[0].when);
  EXPECT_LT(std::chrono::abs(*changes[0].when - std::chrono::system_clock::now()), 1min);
  EXPECT_TRUE(mine.validate(mine.observe({"a", "b"}).value()).value());
}

// SEM 27: "was held when it was observed" never becomes valid
TEST_P(Observing, WhatWasBeingWrittenIsNeverValid) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  mine.observe({"a"}).value();
  Hold hold = other.acquire({write("a")}).value();
  const Observation seen = mine.observe({"a", "b"}).value();
  EXPECT_TRUE(seen.items()[0].being_written);
  EXPECT_FALSE(seen.items()[1].being_written);
  EXPECT_FALSE(mine.validate(seen).value());
  ASSERT_TRUE(hold.release());
  EXPECT_FALSE(mine.validate(seen).value());
  const std::vector<Change> changes = mine.changes_since(seen).value();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].was_being_written);
  EXPECT_TRUE(mine.validate(mine.observe({"a", "b"}).value()).value());
}

// SEM 2, 3, 27: names as in a set
TEST_P(Observing, NamesAreCheckedAsThoseOfASet) {
  if (cannot()) return;
  Locks mine = locks();
  EXPECT_EQ(code_of(mine.observe({})), Errc::invalid);
  EXPECT_EQ(code_of(mine.observe({"a", ""})), Errc::invalid);
  EXPECT_EQ(code_of(mine.observe({"*"})), Errc::invalid);
  EXPECT_EQ(code_of(mine.observe({"@app:me"})), Errc::invalid);
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= max_set_size; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(code_of(mine.observe(many)), Errc::invalid);
  many.pop_back();
  EXPECT_EQ(mine.observe(many).value().size(), max_set_size);
}

// --- races ---

// SEM 27: what is read between an observation and its validation belongs together. Writers bump two
// counters, one after the other, under their hold. The names change all the time, so that many
// observations make a trace while writers are granted its name.
TEST_P(Observing, NoWriteIsOverlooked) {
  if (cannot()) return;
  constexpr std::size_t writers = 2;
  constexpr std::size_t readers = 2;
  constexpr std::size_t names = 4;
  const int tries = rounds(1000, 150);
  const int often = tries / 20;  // each outcome, at least
  struct Pair {
    std::atomic<int> one = 0, two = 0;
  };
  std::vector<Pair> content(20'000);
  std::atomic<std::size_t> first = 0;  // of the names in use
  std::atomic<std::size_t> reading = readers;
  std::atomic<int> unchanged = 0;
  std::atomic<int> changed = 0;
  Progress progress;
  const auto name = [](std::size_t i) { return "name " + std::to_string(i); };
  run_threads(writers + readers, [&](std::size_t thread) {
    Client c(open(), "app " + std::to_string(thread));
    std::uint64_t dice = thread + 1;
    const auto pick = [&] {
      dice = dice * 6364136223846793005U + 1442695040888963407U;
      return first + (dice >> 33U) % names;
    };
    if (thread < writers) {
      while (reading > 0 && !progress.stuck()) {
        const std::size_t i = pick();
        const TimePoint asked = BootClock::now();
        const std::optional<Grant> grant = c.try_take({write(name(i))});
        if (!grant) {
          pause_after_try(asked);
          continue;
        }
        ++content[i].one;
        std::this_thread::yield();
        ++content[i].two;
        c.release(grant->stamp);
      }
      return;
    }
    const auto goes_on = [&](int round) {
      return (round < tries || unchanged < often || changed < often) && round < 200 * tries;
    };
    for (int round = 0; goes_on(round) && !progress.stuck(); ++round) {
      if (round % 2 == 0 && first + 2 * names < content.size()) ++first;
      const std::size_t i = pick();
      const Trace seen = c.observe_one(name(i));
      if (seen.being_written) continue;
      const int one = content[i].one;
      if (round % 2 == 0) linger(100us);  // time for a writer
      const int two = content[i].two;
      const bool valid = same(c.observe_one(name(i)), seen);
      ++(valid ? unchanged : changed);
      if (valid && one != two) ADD_FAILURE() << "round " << round << " saw " << one << ", " << two;
      progress.step();
    }
    --reading;
  });
  EXPECT_GE(unchanged, often);
  EXPECT_GE(changed, often);
  RecordProperty("unchanged", unchanged.load());
  RecordProperty("changed", changed.load());
}

LOCKSET_CONFORMANCE_SUITE(Observing);

}  // namespace
}  // namespace lockset::conformance
