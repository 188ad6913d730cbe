// SEM 29, 30: a hold that takes its names in another mode, in one step and without letting go.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "backends/line_times.h"
#include "tests/conformance/suite.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

using test::Call;
using test::Fault;
using test::FaultyBackend;

class Upgrading : public Conformance {
 protected:
  bool cannot() { return skip_unless(traits().converting, "upgrades and downgrades"); }
  // Lets `most` read "a" at once.
  static void share(const std::vector<Client*>& clients, std::uint32_t most = max_permits,
                    const std::string& name = "a") {
    clients.front()->set_permits(name, Mode::read, most);
    for (Client* each : clients) each->reload();
  }
  static Wanted items_of(const HoldInfo& hold) { return sorted(hold.items); }
};

// SEM 29
TEST_P(Upgrading, AWriteTakesThePlaceOfTheRead) {
  if (cannot()) return;
  Client c = client();
  const Grant reader = c.take({read("a"), write("b")});
  const Grant writer = c.take({write("a"), write("b")}, {.replaces = reader.stamp});
  EXPECT_GT(writer.stamp, reader.stamp);
  const std::vector<RawHold> all = space().look();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stamp, writer.stamp);
  EXPECT_EQ(all[0].items, (Wanted{write("a"), write("b")}));
  EXPECT_EQ(all[0].app, "app");
  EXPECT_FALSE(c.renew(reader.stamp, 1min));
  EXPECT_FALSE(c.release(reader.stamp)) << "the old stamp has ended";
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(c.renew(writer.stamp, 1min));
  client("other").meet_busy({read("a")});
  EXPECT_TRUE(c.release(writer.stamp));
  EXPECT_TRUE(space().look().empty());
}

// SEM 30
TEST_P(Upgrading, AReadTakesThePlaceOfTheWrite) {
  if (cannot()) return;
  Client c = client();
  Client other(open(), "other");
  share({&c, &other});
  const Grant writer = c.take({write("a"), read("b")});
  other.meet_busy({read("a")});
  const Grant reader = c.take({read("a"), read("b")}, {.replaces = writer.stamp});
  EXPECT_GT(reader.stamp, writer.stamp);
  const std::vector<RawHold> all = space().look();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stamp, reader.stamp);
  EXPECT_EQ(all[0].items, (Wanted{read("a"), read("b")}));
  EXPECT_FALSE(c.release(writer.stamp));
  const Grant another = other.take({read("a")});
  EXPECT_EQ(other.meet_busy({write("b")}).holder, reader.stamp);
  EXPECT_TRUE(other.release(another.stamp));
  EXPECT_TRUE(c.release(reader.stamp));
}

// SEM 4, 29
TEST_P(Upgrading, NeedsTheOnlyReader) {
  if (cannot()) return;
  Client c = client();
  Client other(open(), "other");
  share({&c, &other});
  const Grant mine = c.take({read("a"), read("b")});
  const Grant others = other.take({read("a")});
  const std::vector<RawHold> before = space().look();
  const Busy busy = c.meet_busy({write("a"), write("b")}, {.replaces = mine.stamp});
  EXPECT_EQ(busy.name, "a");
  EXPECT_EQ(busy.mode, Mode::read);
  EXPECT_EQ(busy.holder, others.stamp);
  EXPECT_EQ(space().look(), before) << "nothing was changed";
  EXPECT_TRUE(c.renew(mine.stamp, 1min));
  EXPECT_TRUE(other.release(others.stamp));
  EXPECT_TRUE(c.release(c.take({write("a"), write("b")}, {.replaces = mine.stamp}).stamp));
}

// SEM 29: neither waits, so neither keeps the other for ever
TEST_P(Upgrading, OfTwoReadersNeitherWaits) {
  if (cannot()) return;
  Client one = client("one");
  Client two(open(), "two");
  share({&one, &two});
  const Grant of_one = one.take({read("a")});
  const Grant of_two = two.take({read("a")});
  EXPECT_EQ(one.meet_busy({write("a")}, {.replaces = of_one.stamp}).holder, of_two.stamp);
  EXPECT_EQ(two.meet_busy({write("a")}, {.replaces = of_two.stamp}).holder, of_one.stamp);
  EXPECT_TRUE(one.release(of_one.stamp));
  EXPECT_TRUE(two.take({write("a")}, {.replaces = of_two.stamp}).stamp);
}

// SEM 4, 30
TEST_P(Upgrading, OfTwoWritersNeitherMayOnlyRead) {
  if (cannot()) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client one = client("one");
  one.set_permits("a", Mode::write, 2);
  Client two(open(), "two");
  const Grant of_one = one.take({write("a")});
  const Grant of_two = two.take({write("a")});
  const Busy busy = one.meet_busy({read("a")}, {.replaces = of_one.stamp});
  EXPECT_EQ(busy.mode, Mode::write);
  EXPECT_EQ(busy.holder, of_two.stamp);
  EXPECT_EQ(space().look().size(), 2U);
  EXPECT_TRUE(two.release(of_two.stamp));
  EXPECT_TRUE(one.take({read("a")}, {.replaces = of_one.stamp}).stamp);
}

// SEM 4, 29: with write permits above 1 it leaves room for others
TEST_P(Upgrading, AdmitsAsManyWritersAsAnyWrite) {
  if (cannot()) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 2);
  Client other(open(), "other");
  const Grant reader = c.take({read("a")});
  other.meet_busy({write("a")});
  const Grant writer = c.take({write("a")}, {.replaces = reader.stamp});
  const Grant second = other.take({write("a")});
  other.meet_busy({write("a")});
  EXPECT_TRUE(c.release(writer.stamp));
  EXPECT_TRUE(other.release(second.stamp));
}

// SEM 9, 29: the hold has to be live, and of this application
TEST_P(Upgrading, WhatIsNotHeldIsGone) {
  if (cannot()) return;
  Client c = client();
  Client other(open(), "other");
  c.meet_gone({write("a")}, {.replaces = Stamp{12345}});
  const Grant released = c.take({read("a")});
  EXPECT_TRUE(c.release(released.stamp));
  c.meet_gone({write("a")}, {.replaces = released.stamp});
  const Grant broken = c.take({read("a")});
  EXPECT_TRUE(other.break_hold(broken.stamp));
  const Grant since = other.take({write("a")});
  c.meet_gone({write("a")}, {.replaces = broken.stamp});  // before contention
  EXPECT_TRUE(other.release(since.stamp));
  c.meet_gone({write("a")}, {.replaces = broken.stamp});
  const Grant brief = c.take({read("a")}, {.lease = 20ms});
  ASSERT_TRUE(expired(c, {brief}));
  c.meet_gone({write("a")}, {.replaces = brief.stamp});
  EXPECT_TRUE(space().look().empty()) << "and nothing was granted";

  const Grant theirs = other.take({read("a")});
  c.meet_gone({write("a")}, {.replaces = theirs.stamp});
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(other.is_live(theirs.stamp));
  EXPECT_TRUE(other.release(theirs.stamp));
  // Twice: the second time the first one has taken its place.
  const Grant reader = c.take({read("a")});
  const Grant writer = c.take({write("a")}, {.replaces = reader.stamp});
  c.meet_gone({write("a")}, {.replaces = reader.stamp});
  EXPECT_TRUE(c.is_live(writer.stamp));
}

// SEM 7, 29
TEST_P(Upgrading, AStaleRequestChangesNothing) {
  if (cannot()) return;
  Client c = client();
  const Grant reader = c.take({read("a")});
  Client(open(), "other").set_permits("b", Mode::read, max_permits);
  const Result<AcquireOutcome> outcome = c.ask_once({write("a")}, {.replaces = reader.stamp});
  ASSERT_TRUE(outcome) << test::describe(outcome);
  EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
  EXPECT_TRUE(c.is_live(reader.stamp));
  EXPECT_TRUE(c.take({write("a")}, {.replaces = reader.stamp}).stamp);
}

// SEM 10: a conversion never shortens a lease
TEST_P(Upgrading, TheLongerLeaseLasts) {
  if (cannot()) return;
  if (skip_unless(!traits().session_leases, "leases of any length")) return;
  Client c = client();
  const Grant first = c.take({read("a")}, {.lease = 8min});
  const Grant second = c.take({write("a")}, {.lease = 2s, .replaces = first.stamp});
  EXPECT_GT(second.lease, 6min);
  EXPECT_LE(second.lease, 8min + clock_grain);
  EXPECT_GT(c.holds().at(0).remaining.value(), 6min);
  const Grant third = c.take({read("a")}, {.lease = 10min, .replaces = second.stamp});
  EXPECT_GT(third.lease, 9min);
  EXPECT_LE(third.lease, 10min + clock_grain);
  EXPECT_GT(c.holds().at(0).remaining.value(), 9min);
}

// SEM 10
TEST_P(Upgrading, ItExpiresAsAnyHold) {
  if (cannot()) return;
  Client c = client();
  const Grant reader = c.take({read("a")}, {.lease = 1s});
  const Grant writer = c.take({write("a")}, {.lease = 1s, .replaces = reader.stamp});
  ASSERT_TRUE(expired(c, {writer}));
  EXPECT_TRUE(client("other").take({write("a")}).stamp);
}

// SEM 11
TEST_P(Upgrading, APermanentHoldStaysPermanent) {
  if (cannot()) return;
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  const Grant reader = c.take({read("a")});
  ASSERT_TRUE(c.make_permanent(reader.stamp));
  const Token token = Token::random();
  const Grant writer =
      c.take({write("a")}, {.lease = 1s, .token = token, .replaces = reader.stamp});
  EXPECT_EQ(writer.lease, Duration::max());
  EXPECT_FALSE(c.holds().at(0).remaining);
  EXPECT_EQ(c.resolve(token).value().lease, Duration::max());
  EXPECT_TRUE(c.release(writer.stamp));
}

// SEM 8: the floor no longer shows the stamp that has ended
TEST_P(Upgrading, HasItsOwnFloors) {
  if (cannot()) return;
  if (skip_unless(traits().floors, "floors")) return;
  Client c = client();
  Client other(open(), "other");
  share({&c, &other});
  const Grant mine = c.take({read("a"), read("b")});
  const Grant writer = c.take({write("a"), write("b")}, {.replaces = mine.stamp});
  EXPECT_EQ(writer.floors, (std::vector<Stamp>{writer.stamp, writer.stamp}));
  const Grant reader = c.take({read("a"), read("b")}, {.replaces = writer.stamp});
  EXPECT_EQ(reader.floors, (std::vector<Stamp>{reader.stamp, reader.stamp}));
  EXPECT_EQ(other.take({read("a")}).floors, (std::vector<Stamp>{reader.stamp}));
}

// SEM 8, 14
TEST_P(Upgrading, ATokenFindsIt) {
  if (cannot()) return;
  Client c = client();
  const Token first = Token::random();
  const Token second = Token::random();
  const Grant reader = c.take({read("a"), read("b")}, {.token = first});
  const Grant writer =
      c.take({write("a"), write("b")}, {.token = second, .replaces = reader.stamp});
  EXPECT_FALSE(c.resolve(first));
  const std::optional<Grant> found = c.resolve(second);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stamp, writer.stamp);
  EXPECT_EQ(found->floors, writer.floors);
}

// SEM 14: delivered twice
TEST_P(Upgrading, ATokenHasOneHold) {
  if (cannot()) return;
  Client c = client();
  const Grant reader = c.take({read("a")});
  const Ask ask{.token = Token::random(), .replaces = reader.stamp};
  const Grant writer = c.take({write("a")}, ask);
  const Result<AcquireOutcome> again = c.ask({write("a")}, ask);
  ASSERT_TRUE(again) << test::describe(again);
  const Grant* const same = std::get_if<Grant>(&*again);
  ASSERT_TRUE(same != nullptr || std::holds_alternative<Gone>(*again)) << test::describe(again);
  if (same != nullptr) {
    EXPECT_EQ(same->stamp, writer.stamp);
  }
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(c.release(writer.stamp));
  c.meet_gone({write("a")}, ask);
}

// SEM 14: late requests find that the hold has ended, whatever ended it
TEST_P(Upgrading, ALateRequestFindsNothingToReplace) {
  if (cannot()) return;
  const auto store = std::make_shared<FaultyBackend>(open(), test::test_seed());
  Client c(store, "app");
  for (const bool by_another : {false, true}) {
    const Grant reader = c.take({read("a")});
    store->script(Call::try_acquire, Fault::delay);
    const Token token = Token::random();
    ASSERT_FALSE(c.ask({write("a")}, {.token = token, .replaces = reader.stamp}));
    EXPECT_TRUE(c.is_live(reader.stamp));
    std::optional<Grant> writer;
    if (by_another) {
      writer = c.take({write("a")}, {.replaces = reader.stamp});
    } else {
      EXPECT_TRUE(c.release(reader.stamp));
    }
    ASSERT_EQ(store->deliver_late(), 1U);
    EXPECT_FALSE(c.resolve(token));
    EXPECT_EQ(space().look().size(), by_another ? 1U : 0U);
    if (writer) {
      EXPECT_TRUE(c.release(writer->stamp));
    }
  }
}

// SEM 27: an upgrade writes, a downgrade does not
TEST_P(Upgrading, OnlyAnUpgradeIsAWrite) {
  if (cannot()) return;
  if (skip_unless(traits().observing, "observing")) return;
  Client c = client();
  c.set_label("me@home");
  const Trace before = c.observe_one("a");
  const Grant reader = c.take({read("a")});
  EXPECT_EQ(c.observe_one("a").last_write, before.last_write);
  const Grant writer = c.take({write("a")}, {.replaces = reader.stamp});
  const Trace written = c.observe_one("a");
  EXPECT_EQ(written.last_write, writer.stamp);
  EXPECT_EQ(written.label, "me@home");
  EXPECT_TRUE(written.being_written);
  const Grant again = c.take({read("a")}, {.replaces = writer.stamp});
  const Trace after = c.observe_one("a");
  EXPECT_EQ(after.last_write, writer.stamp);
  EXPECT_FALSE(after.being_written);
  EXPECT_TRUE(c.release(again.stamp));
}

// SEM 3: every set
TEST_P(Upgrading, TheLargestSetToo) {
  if (cannot()) return;
  Client c = client();
  Wanted reads, writes;
  for (std::size_t i = 0; i < max_set_size; ++i) {
    reads.push_back(read("name " + std::to_string(i)));
    writes.push_back(write("name " + std::to_string(i)));
  }
  const Grant first = c.take(reads);
  const Grant second = c.take(writes, {.replaces = first.stamp});
  EXPECT_EQ(space().look().at(0).items, sorted(writes));
  const Grant third = c.take(reads, {.replaces = second.stamp});
  EXPECT_EQ(space().look().at(0).items, sorted(reads));
  EXPECT_TRUE(c.release(third.stamp));
}

// --- those who wait: SEM 13 ---

// SEM 13, 29: to an upgrade as to any newcomer
TEST_P(Upgrading, RespectsWhatIsKept) {
  if (cannot()) return;
  if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  Client c = client();
  Client waiter(open(), "waiter");
  c.change(SetMaxOvertakes{0});
  share({&c, &waiter});
  const Grant reader = c.take({read("a")});
  const Busy waits = waiter.meet_busy({write("a")}, {.will_wait = true});
  ASSERT_TRUE(waits.ticket);
  const Busy kept = c.meet_busy({write("a")}, {.replaces = reader.stamp});
  EXPECT_FALSE(kept.holder) << "no hold is in the way";
  EXPECT_TRUE(c.is_live(reader.stamp));
  waiter.backend().end_wait(*waits.ticket, soon());
  EXPECT_TRUE(c.take({write("a")}, {.replaces = reader.stamp}).stamp);
}

// SEM 13, 30: it only gives up
TEST_P(Upgrading, ADowngradePassesTheLine) {
  if (cannot()) return;
  if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  Client c = client();
  Client waiter(open(), "waiter");
  c.change(SetMaxOvertakes{0});
  share({&c, &waiter});
  const Grant writer = c.take({write("a")});
  ASSERT_TRUE(waiter.meet_busy({write("a")}, {.will_wait = true}).ticket);
  EXPECT_TRUE(c.take({read("a")}, {.replaces = writer.stamp}).stamp);
}

// SEM 13, 30: and it overtakes nobody
TEST_P(Upgrading, ADowngradeIsNotCounted) {
  if (cannot()) return;
  if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  Client c = client();
  Client waiter(open(), "waiter");
  c.change(SetMaxOvertakes{1});
  share({&c, &waiter});
  const Grant writer = c.take({write("a")});
  ASSERT_TRUE(waiter.meet_busy({write("a")}, {.will_wait = true}).ticket);
  EXPECT_TRUE(c.take({read("a")}, {.replaces = writer.stamp}).stamp);
  EXPECT_TRUE(c.take({read("a")}).stamp) << "the first one that overtakes";
}

// SEM 13, 29: an upgrade does. Where a step took longer than a woken waiter has to come, nothing is
// known, and the test begins again with another name.
TEST_P(Upgrading, AnUpgradeIsCounted) {
  if (cannot()) return;
  if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  Client c = client();
  Client waiter(open(), "waiter");
  c.change(SetMaxOvertakes{1});
  for (int i = 0; i < 50; ++i) {
    const std::string name = "name " + std::to_string(i);
    share({&c, &waiter}, max_permits, name);
    const Grant reader = c.take({read(name)});
    ASSERT_TRUE(waiter.meet_busy({write(name)}, {.will_wait = true}).ticket);
    const Grant writer = c.take({write(name)}, {.replaces = reader.stamp});
    const TimePoint began = BootClock::now();  // the downgrade may wake it
    c.take({read(name)}, {.replaces = writer.stamp});
    const Result<AcquireOutcome> outcome = c.ask({read(name)});
    if (BootClock::now() - began >= comes_within) continue;
    const Busy* const busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr;
    ASSERT_TRUE(busy != nullptr) << test::describe(outcome);
    EXPECT_FALSE(busy->holder) << "it is kept";
    return;
  }
  FAIL() << "no step was fast enough";
}

constexpr Duration at_the_latest = 5min;
constexpr Duration soon_enough = 4min;

// SEM 13, 30
TEST_P(Upgrading, ADowngradeWakesAReader) {
  if (cannot()) return;
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client c = client();
  share({&c});
  const Grant writer = c.take({write("a")});
  std::atomic<bool> waits = false;
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return waits.load(); })) ADD_FAILURE() << "nobody waits";
      EXPECT_TRUE(c.take({read("a")}, {.replaces = writer.stamp}).stamp);
      return;
    }
    Client waiter(open(), "waiter");
    const Busy busy = waiter.meet_busy({read("a")}, {.will_wait = true});
    waits = true;
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + at_the_latest, {}));
    EXPECT_LT(BootClock::now() - began, soon_enough) << "not woken, but run into its deadline";
    EXPECT_TRUE(waiter.take({read("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
  });
}

// SEM 13, 30: past a writer that has to wait on
TEST_P(Upgrading, ADowngradeWakesAReaderBehindAWriter) {
  if (cannot()) return;
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  mine.set_permits("a", Mode::read, max_permits).value();
  if (traits().bounded_overtaking) mine.set_max_overtakes(unlimited_overtakes).value();
  Hold writer = mine.acquire({write("a")}).value();
  std::atomic<bool> read_it = false;
  const auto waiting = [&](Mode mode) {
    return eventually([&] {
      const Inspection all = mine.inspect().value();
      return !traits().lists_waiters ||
             std::any_of(all.waiters.begin(), all.waiters.end(), [&](const WaiterInfo& waiter) {
               return waiter.items.front().mode == mode;
             });
    });
  };
  run_threads(3, [&](std::size_t i) {
    if (i == 1) {
      EXPECT_TRUE(other.acquire({write("a")}));  // after everybody else
      EXPECT_TRUE(read_it);
    } else if (i == 2) {
      EXPECT_TRUE(waiting(Mode::write));
      Hold reader = other.acquire({read("a")}).value();
      read_it = true;
    } else {
      EXPECT_TRUE(waiting(Mode::write) && waiting(Mode::read));
      std::optional<Hold> reader = writer.downgrade().value();
      ASSERT_TRUE(reader);
      EXPECT_TRUE(eventually([&] { return read_it.load(); })) << "nobody woke the reader";
    }
  });
}

// SEM 13, 29: with write permits above 1 it may admit another writer
TEST_P(Upgrading, AnUpgradeWakesAWriterThatHasRoom) {
  if (cannot()) return;
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 2);
  const Grant reader = c.take({read("a")});
  std::atomic<bool> waits = false;
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return waits.load(); })) ADD_FAILURE() << "nobody waits";
      EXPECT_TRUE(c.take({write("a")}, {.replaces = reader.stamp}).stamp);
      return;
    }
    Client waiter(open(), "waiter");
    const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
    waits = true;
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + at_the_latest, {}));
    EXPECT_LT(BootClock::now() - began, soon_enough) << "not woken, but run into its deadline";
    EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
  });
}

// --- races ---

// SEM 4, 29: readers that all upgrade, and never two holders of a write
TEST_P(Upgrading, ManyThatRaceNeverWriteTogether) {
  if (cannot()) return;
  constexpr std::size_t threads = 4;
  const int upgrades_each = rounds(200, 20);
  Client first = client();
  share({&first});
  std::atomic<int> readers = 0;  // those who certainly hold
  std::atomic<int> writers = 0;
  std::atomic<int> refused = 0;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open(), "app " + std::to_string(i));
    for (int done = 0; done < upgrades_each && !progress.stuck();) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> reader = c.try_take({read("a")});
      if (!reader) {
        pause_after_try(asked);
        continue;
      }
      ++readers;
      EXPECT_EQ(writers, 0);
      linger(50us);  // others come to read
      const std::optional<Grant> writer = c.try_take({write("a")}, {.replaces = reader->stamp});
      if (!writer) {
        ++refused;
        --readers;
        EXPECT_TRUE(c.release(reader->stamp));
        pause_after_try(asked);
        continue;
      }
      EXPECT_GT(writer->stamp, reader->stamp);
      EXPECT_EQ(++writers, 1);
      EXPECT_EQ(readers, 1) << "somebody reads beside the writer";
      --writers;
      if (done % 2 == 0) {
        const Grant again = c.take({read("a")}, {.replaces = writer->stamp});
        --readers;
        EXPECT_TRUE(c.release(again.stamp));
      } else {
        --readers;
        EXPECT_TRUE(c.release(writer->stamp));
      }
      ++done;
      progress.step();
    }
  });
  EXPECT_FALSE(progress.stuck());
  EXPECT_TRUE(space().look().empty());
  RecordProperty("refused", refused.load());
}

// SEM 29, 30: from outside, each look shows exactly one of the two holds, and nobody gets between
TEST_P(Upgrading, NobodySeesBothNorNeither) {
  if (cannot()) return;
  const int turns = rounds(300, 40);
  Client first = client();
  share({&first});
  std::atomic<bool> over = false;
  std::atomic<bool> held = false;
  std::atomic<int> looks = 0;
  Client c(open(), "app");  // outlives the last look: its holds may end with it
  run_threads(3, [&](std::size_t i) {
    if (i == 0) {
      Grant grant = c.take({read("a"), read("b")});
      held = true;
      for (int turn = 0; turn < turns || looks < 20; ++turn) {
        const bool up = turn % 2 == 0;
        grant = c.take(up ? Wanted{write("a"), write("b")} : Wanted{read("a"), read("b")},
                       {.replaces = grant.stamp});
        if (HasFailure()) break;
      }
      over = true;
      return;
    }
    Client looker(open(), "looker");
    if (!eventually([&] { return held.load(); })) ADD_FAILURE() << "nothing is held";
    while (!over && !HasFailure()) {
      const std::vector<HoldInfo> holds = looker.holds();
      EXPECT_EQ(holds.size(), 1U) << "both, or neither";
      for (const HoldInfo& hold : holds) {
        EXPECT_EQ(hold.items.size(), 2U);
        EXPECT_EQ(hold.items.front().mode, hold.items.back().mode);
      }
      EXPECT_FALSE(looker.try_take({write(i == 1 ? "a" : "b")}))
          << "the names were free for a moment";
      ++looks;
    }
  });
}

// SEM 9, 29: of an upgrade and a release of one hold exactly one succeeds
TEST_P(Upgrading, ARacingReleaseExcludesIt) {
  if (cannot()) return;
  const int all = rounds(100, 20);
  Client first = client();
  for (int round = 0; round < all && !HasFailure(); ++round) {
    const Grant reader = first.take({read("a")});
    std::atomic<bool> released = false;
    std::optional<Stamp> upgraded;
    run_threads(2, [&](std::size_t i) {
      Client c(backend(), "app");
      if (i == 0) {
        released = c.release(reader.stamp);
        return;
      }
      const Result<AcquireOutcome> outcome = c.ask({write("a")}, {.replaces = reader.stamp});
      ASSERT_TRUE(outcome) << test::describe(outcome);
      if (const Grant* grant = std::get_if<Grant>(&*outcome)) upgraded = grant->stamp;
    });
    EXPECT_NE(released.load(), upgraded.has_value());
    EXPECT_EQ(space().look().size(), upgraded ? 1U : 0U);
    if (upgraded) {
      EXPECT_TRUE(first.release(*upgraded));
    }
  }
}

// --- the public interface ---

// SEM 29
TEST_P(Upgrading, GivesANewHold) {
  if (cannot()) return;
  Locks mine = locks({.label = "me@home", .lease = 20s});
  Hold hold = mine.acquire({read("a"), write("b")}, {.lease = 1min, .label = "import"}).value();
  const Stamp old = hold.stamp();
  const std::stop_token lost = hold.lost();
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->valid());
  EXPECT_GT(writer->stamp(), old);
  EXPECT_EQ(Wanted(writer->items().begin(), writer->items().end()),
            (Wanted{write("a"), write("b")}));
  EXPECT_GT(writer->lease(), 30s);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.stamp(), old);
  EXPECT_EQ(refusal_of(hold.release()).code, Errc::not_held);
  const std::vector<HoldInfo> holds = mine.inspect().value().holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].stamp, writer->stamp());
  EXPECT_EQ(holds[0].owner.label, "import");
  hold = std::move(*writer);  // the released one is overwritten
  EXPECT_TRUE(hold.valid());
  ASSERT_TRUE(hold.renew());
  EXPECT_FALSE(lost.stop_requested()) << "it was not lost";
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(space().look().empty());
}

// SEM 30
TEST_P(Upgrading, ADowngradeGivesANewHold) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  mine.set_permits("a", Mode::read, max_permits).value();
  Hold hold = mine.acquire({write("a")}).value();
  const std::stop_token lost = hold.lost();
  std::optional<Hold> reader = hold.downgrade().value();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->valid());
  EXPECT_GT(reader->stamp(), hold.stamp());
  EXPECT_EQ(reader->items()[0], read("a"));
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(other.try_acquire({read("a")}).value());
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_TRUE(reader->release());
}

// SEM 29: there and back again, by whoever is alone
TEST_P(Upgrading, ContentionLeavesTheHoldAsItWas) {
  if (cannot()) return;
  Locks mine = locks();
  Locks other = locks({.app = "other"});
  mine.set_permits("a", Mode::read, max_permits).value();
  Hold hold = mine.acquire({read("a")}).value();
  std::optional<Hold> others = other.try_acquire({read("a")}).value();
  EXPECT_FALSE(hold.try_upgrade().value());
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(others->release());
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_FALSE(other.try_acquire({read("a")}).value());
  std::optional<Hold> reader = writer->downgrade().value();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(other.try_acquire({read("a")}).value());
}

// SEM 30
TEST_P(Upgrading, AContendedDowngradeLeavesTheHoldAsItWas) {
  if (cannot()) return;
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Locks mine = locks();
  mine.set_permits("a", Mode::write, 2).value();
  Hold one = mine.acquire({write("a")}).value();
  Hold two = mine.acquire({write("a")}).value();
  EXPECT_FALSE(one.downgrade().value());
  EXPECT_TRUE(one.valid());
  EXPECT_TRUE(one.renew());
  EXPECT_TRUE(two.release());
  EXPECT_TRUE(one.downgrade().value());
}

// SEM 29
TEST_P(Upgrading, WhatHasEndedIsNotHeld) {
  if (cannot()) return;
  Locks mine = locks();
  EXPECT_EQ(refusal_of(Hold().try_upgrade()).code, Errc::not_held);
  Hold released = mine.acquire({read("a")}).value();
  ASSERT_TRUE(released.release());
  EXPECT_EQ(refusal_of(released.try_upgrade()).code, Errc::not_held);
  Hold broken = mine.acquire({read("a")}).value();
  ASSERT_TRUE(locks({.app = "other"}).break_hold(broken.stamp()));
  EXPECT_EQ(refusal_of(broken.try_upgrade()).code, Errc::not_held);
  EXPECT_TRUE(eventually([&] { return broken.lost().stop_requested(); })) << "it learns of it";
  EXPECT_FALSE(broken.valid());
  EXPECT_EQ(broken.lost_reason(), LostReason::gone);
  EXPECT_EQ(refusal_of(broken.downgrade()).code, Errc::invalid) << "it is a read";
  std::optional<Hold> orphan;
  {
    Locks brief = locks({.app = "brief"});
    orphan = brief.acquire({read("a")}).value();
  }
  EXPECT_EQ(refusal_of(orphan->try_upgrade()).code, Errc::not_held);
  EXPECT_TRUE(space().look().empty());
}

// SEM 29, 30
TEST_P(Upgrading, NothingToDoIsInvalid) {
  if (cannot()) return;
  Locks mine = locks();
  Hold writer = mine.acquire({write("a")}).value();
  Hold reader = mine.acquire({read("b")}).value();
  const Error up = refusal_of(writer.try_upgrade());
  EXPECT_EQ(up.code, Errc::invalid);
  EXPECT_NE(up.message.find("held as write already"), std::string::npos) << up.message;
  const Error down = refusal_of(reader.downgrade());
  EXPECT_EQ(down.code, Errc::invalid);
  EXPECT_NE(down.message.find("held as read already"), std::string::npos) << down.message;
  EXPECT_TRUE(writer.valid());
  EXPECT_TRUE(reader.valid());
}

// SEM 29, 30
TEST_P(Upgrading, ThePlainForm) {
  if (cannot()) return;
  Locks mine = locks();
  Locks twin = locks();
  mine.set_permits("a", Mode::read, max_permits).value();
  const Stamp reader = mine.try_locks({read("a")}).value();
  ASSERT_TRUE(reader);
  const Stamp others = twin.try_locks({read("a")}).value();
  EXPECT_FALSE(mine.try_upgrade_locks(reader).value());
  EXPECT_TRUE(mine.valid(reader));
  EXPECT_EQ(refusal_of(mine.try_upgrade_locks(others)).code, Errc::not_held) << "another's";
  ASSERT_TRUE(twin.release_locks(others));
  const Stamp writer = mine.try_upgrade_locks(reader).value();
  ASSERT_TRUE(writer);
  EXPECT_FALSE(mine.valid(reader));
  EXPECT_TRUE(mine.valid(writer));
  EXPECT_EQ(refusal_of(mine.try_upgrade_locks(reader)).code, Errc::not_held);
  EXPECT_EQ(refusal_of(mine.release_locks(reader)).code, Errc::not_held);
  const Stamp again = mine.downgrade_locks(writer).value();
  ASSERT_TRUE(again);
  EXPECT_EQ(space().look().at(0).items, (Wanted{read("a")}));
  EXPECT_TRUE(mine.release_locks(again));
}

// SEM 29: two calls for one hold in the plain form: one of them meets what the other one made of it
TEST_P(Upgrading, ThePlainFormFromTwoThreads) {
  if (cannot()) return;
  Locks mine = locks();
  const int all = rounds(50, 10);
  for (int round = 0; round < all && !HasFailure(); ++round) {
    const Stamp reader = mine.try_locks({read("a")}).value();
    ASSERT_TRUE(reader);
    std::atomic<int> upgraded = 0;
    std::atomic<std::int64_t> writer = 0;
    run_threads(2, [&](std::size_t) {
      const auto tried = mine.try_upgrade_locks(reader);
      if (tried.ok() && *tried) {
        ++upgraded;
        writer = tried->value;
      } else {
        ASSERT_FALSE(tried.ok()) << "contention with itself";
        EXPECT_EQ(tried.error().code, Errc::not_held);
      }
    });
    EXPECT_EQ(upgraded, 1);
    EXPECT_TRUE(mine.valid(Stamp{writer}));
    EXPECT_TRUE(mine.release_locks(Stamp{writer}));
  }
}

// SEM 12: the hold on the application id is a write as long as it lasts
TEST_P(Upgrading, NotTheHoldOnTheApplication) {
  if (cannot()) return;
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  Locks mine = locks({.app = "svc", .reclaim = true});
  const Stamp own = mine.inspect({InspectQuery::Match::name, "@app:svc"}).value().holds.at(0).stamp;
  const Error refused = refusal_of(mine.downgrade_locks(own));
  EXPECT_EQ(refused.code, Errc::invalid);
  EXPECT_NE(refused.message.find("always a write"), std::string::npos) << refused.message;
  EXPECT_TRUE(mine.try_acquire({write("a")}).value()) << "the instance goes on";
  Hold reader = mine.acquire({read("b")}).value();
  EXPECT_TRUE(reader.try_upgrade().value()) << "its holds may be upgraded";
}

// SEM 10: the new hold is renewed, and the old one is not
TEST_P(Upgrading, TheNewHoldIsKept) {
  if (cannot()) return;
  Locks mine = locks({.lease = 1s});
  Hold hold = mine.acquire({read("a")}).value();
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  // For a lease and more. If the machine stands still for so long, it may be lost.
  const TimePoint over = BootClock::now() + 2s;
  ASSERT_TRUE(eventually([&] { return BootClock::now() > over || !writer->valid(); }));
  if (writer->valid()) {
    EXPECT_EQ(mine.inspect().value().holds.size(), 1U);
    EXPECT_TRUE(writer->release());
  }
  EXPECT_FALSE(hold.lost().stop_requested());
}

// A store that can't says so, in one line.
TEST_P(Upgrading, IsRefusedWhereTheStoreCannot) {
  if (skip_unless(!traits().converting, "no upgrades, which is what this refuses")) return;
  Locks mine = locks();
  Hold hold = mine.acquire({read("a"), write("b")}).value();
  for (const Error& error : {refusal_of(hold.try_upgrade()), refusal_of(hold.downgrade()),
                             refusal_of(mine.try_upgrade_locks(hold.stamp()))}) {
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_NE(error.message.find("acquire its names anew"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(hold.valid());
}

LOCKSET_CONFORMANCE_SUITE(Upgrading);

}  // namespace
}  // namespace lockset::conformance
