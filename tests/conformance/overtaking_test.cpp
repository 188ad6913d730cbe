// SEM 13: how often a waiter is overtaken. A waiter keeps its names only if it comes soon after it
// was woken. Where a step of a test took longer than that, nothing is known, and the test begins
// again with another name.
#include <optional>
#include <string>
#include <vector>

#include "backends/line_times.h"
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Overtaking : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    if (skip_unless(traits().bounded_overtaking, "bounded overtaking")) return;
  }

  // Sets the bound, and lets these clients know it.
  static void bound(std::uint32_t most, const std::vector<Client*>& clients) {
    clients.front()->change(SetMaxOvertakes{most});
    for (Client* each : clients) each->reload();
  }

  // Runs story(name), which returns false if it was too slow, with one name after the other.
  template <class Story>
  static void until_conclusive(const Story& story) {
    constexpr int most = 50;
    for (int i = 0; i < most; ++i) {
      if (testing::Test::HasFailure() || story("name" + std::to_string(i))) return;
    }
    FAIL() << "no step was fast enough in " << most << " attempts";
  }

  // A waiter that was woken after this moment still counts. (A Stopwatch leaves out what the
  // machine stood still; the store's clock does not.)
  static bool in_time(TimePoint since) { return BootClock::now() - since < comes_within; }

  // The waiter comes in vain.
  static void come(Client& waiter, const Wanted& wanted, std::shared_ptr<WaitTicket>& ticket) {
    ticket = waiter.meet_busy(wanted, {.will_wait = true, .ticket = ticket}).ticket;
  }

  static bool is_kept(const Result<AcquireOutcome>& outcome) {
    const Busy* const busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr;
    return busy != nullptr && !busy->holder;
  }
};

TEST_P(Overtaking, IsBoundedByTheSpace) {
  constexpr std::uint32_t most = 3;
  Client newcomer = client("newcomer");
  Client waiter(open(), "waiter");
  bound(most, {&newcomer, &waiter});
  until_conclusive([&](const std::string& name) {
    const Wanted wanted{write(name)};
    Stamp held = newcomer.take(wanted).stamp;
    std::shared_ptr<WaitTicket> ticket;
    come(waiter, wanted, ticket);
    for (std::uint32_t i = 0; i < most; ++i) {
      const TimePoint began = BootClock::now();
      EXPECT_TRUE(newcomer.release(held));
      held = newcomer.take(wanted).stamp;  // overtakes
      come(waiter, wanted, ticket);
      if (!in_time(began)) return false;
    }
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(newcomer.release(held));
    const Result<AcquireOutcome> refused = newcomer.ask(wanted);
    if (!in_time(began)) return false;
    EXPECT_TRUE(is_kept(refused)) << test::describe(refused);
    EXPECT_TRUE(waiter.take(wanted, {.will_wait = true, .ticket = ticket}).stamp);
    return true;
  });
}

TEST_P(Overtaking, HasNoBoundIfItIsOff) {
  Client newcomer = client("newcomer");
  Client waiter(open(), "waiter");
  bound(unlimited_overtakes, {&newcomer, &waiter});
  const Wanted wanted{write("a")};
  Stamp held = newcomer.take(wanted).stamp;
  std::shared_ptr<WaitTicket> ticket;
  come(waiter, wanted, ticket);
  for (std::uint32_t i = 0; i < 2 * default_max_overtakes; ++i) {
    ASSERT_TRUE(newcomer.release(held));
    held = newcomer.take(wanted).stamp;
    come(waiter, wanted, ticket);
  }
  waiter.backend().end_wait(*ticket, soon());
}

// Over all names of the set together; and then all of them are kept, also those that are free.
TEST_P(Overtaking, OfASetIsCountedOverAllItsNames) {
  Client newcomer = client("newcomer");
  Client waiter(open(), "waiter");
  bound(2, {&newcomer, &waiter});
  until_conclusive([&](const std::string& name) {
    const std::string other = name + " too";
    const Wanted both{write(name), write(other)};
    Stamp one = newcomer.take({write(name)}).stamp;
    Stamp two = newcomer.take({write(other)}).stamp;
    std::shared_ptr<WaitTicket> ticket;
    come(waiter, both, ticket);
    const TimePoint first = BootClock::now();
    EXPECT_TRUE(newcomer.release(one));
    one = newcomer.take({write(name)}).stamp;
    come(waiter, both, ticket);
    if (!in_time(first)) return false;
    const TimePoint second = BootClock::now();
    EXPECT_TRUE(newcomer.release(two));
    two = newcomer.take({write(other)}).stamp;
    come(waiter, both, ticket);
    if (!in_time(second)) return false;
    const TimePoint third = BootClock::now();
    EXPECT_TRUE(newcomer.release(one));
    const Result<AcquireOutcome> refused = newcomer.ask({write(name)});
    if (!in_time(third)) return false;
    EXPECT_TRUE(is_kept(refused)) << test::describe(refused);
    EXPECT_TRUE(newcomer.release(two));
    EXPECT_TRUE(waiter.take(both, {.will_wait = true, .ticket = ticket}).stamp);
    return true;
  });
}

// A writer does not starve behind a stream of readers.
TEST_P(Overtaking, OfAWriterByReadersIsBounded) {
  Client reader = client("reader");
  Client writer(open(), "writer");
  reader.set_permits("*", Mode::read, 100);
  bound(2, {&reader, &writer});
  until_conclusive([&](const std::string& name) {
    std::vector<Stamp> held{reader.take({read(name)}).stamp};
    std::shared_ptr<WaitTicket> ticket;
    come(writer, {write(name)}, ticket);
    held.push_back(reader.take({read(name)}).stamp);
    held.push_back(reader.take({read(name)}).stamp);
    // Nothing woke the writer, so it counts for long.
    EXPECT_TRUE(is_kept(reader.ask({read(name)})));
    for (const Stamp stamp : held) EXPECT_TRUE(reader.release(stamp));
    EXPECT_TRUE(writer.take({write(name)}, {.will_wait = true, .ticket = ticket}).stamp);
    return true;
  });
}

// A waiter for whom names are kept counts as a hold, so it leaves room as a hold does.
TEST_P(Overtaking, AKeptReadLeavesRoomForReads) {
  Client newcomer = client("newcomer");
  Client waiter(open(), "waiter");
  newcomer.set_permits("*", Mode::read, 2);
  bound(0, {&newcomer, &waiter});
  until_conclusive([&](const std::string& name) {
    const Stamp held = newcomer.take({write(name)}).stamp;
    std::shared_ptr<WaitTicket> ticket;
    come(waiter, {read(name)}, ticket);
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(newcomer.release(held));
    const Result<AcquireOutcome> write_refused = newcomer.ask({write(name)});
    const std::optional<Grant> one = newcomer.try_take({read(name)});
    const Result<AcquireOutcome> read_refused = newcomer.ask({read(name)});
    if (!in_time(began)) return false;
    EXPECT_TRUE(is_kept(write_refused)) << test::describe(write_refused);
    EXPECT_TRUE(one) << "one of two read permits is kept, and the other one is free";
    EXPECT_TRUE(is_kept(read_refused)) << test::describe(read_refused);
    EXPECT_TRUE(waiter.take({read(name)}, {.will_wait = true, .ticket = ticket}).stamp);
    return true;
  });
}

// So there is progress.
TEST_P(Overtaking, AYoungerWaiterNeverHoldsUpAnOlderOne) {
  Client holder = client("holder");
  Client older(open(), "older");
  Client younger(open(), "younger");
  bound(0, {&holder, &older, &younger});
  until_conclusive([&](const std::string& name) {
    const Wanted wanted{write(name)};
    const Stamp held = holder.take(wanted).stamp;
    std::shared_ptr<WaitTicket> first;
    std::shared_ptr<WaitTicket> second;
    come(older, wanted, first);
    come(younger, wanted, second);
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(holder.release(held));
    const Result<AcquireOutcome> refused =
        younger.ask(wanted, {.will_wait = true, .ticket = second});
    const std::optional<Grant> granted =
        older.try_take(wanted, {.will_wait = true, .ticket = first});
    if (in_time(began)) {
      EXPECT_TRUE(is_kept(refused)) << test::describe(refused);
    }
    younger.backend().end_wait(*second, soon());
    if (!in_time(began)) return false;
    EXPECT_TRUE(granted);
    return true;
  });
}

// A waiter that is dead, or slow to come, is passed over in bounded time.
TEST_P(Overtaking, WhoDoesNotComeIsPassedOver) {
  Client newcomer = client("newcomer");
  Client dead(open(), "dead");
  bound(0, {&newcomer, &dead});
  const Stamp held = newcomer.take({write("a"), write("b")}).stamp;
  std::shared_ptr<WaitTicket> ticket;
  come(dead, {write("a"), write("b")}, ticket);
  EXPECT_TRUE(newcomer.release(held));
  EXPECT_TRUE(eventually([&] { return newcomer.try_take({write("b")}).has_value(); }));
}

// The same where nothing wakes it: what it also waits for stays taken.
TEST_P(Overtaking, WhoIsDeadKeepsNothingForLong) {
  Client newcomer = client("newcomer");
  bound(0, {&newcomer});
  newcomer.take({write("a")});
  {
    Client dead(open(), "dead");
    std::shared_ptr<WaitTicket> ticket;
    come(dead, {write("a"), write("b")}, ticket);
  }
  const Stopwatch watch;
  EXPECT_TRUE(eventually([&] { return newcomer.try_take({write("b")}).has_value(); }));
  EXPECT_LT(watch.elapsed(), waiter_lifetime - 3s) << "it counted until it was forgotten";
}

TEST_P(Overtaking, NothingIsKeptForWhoGaveUp) {
  Client newcomer = client("newcomer");
  Client quitter(open(), "quitter");
  bound(0, {&newcomer, &quitter});
  const Stamp held = newcomer.take({write("a")}).stamp;
  std::shared_ptr<WaitTicket> ticket;
  come(quitter, {write("a")}, ticket);
  EXPECT_TRUE(newcomer.release(held));
  quitter.backend().end_wait(*ticket, soon());
  EXPECT_TRUE(newcomer.try_take({write("a")}));
}

// The end of the wait in front is all that the next one waits for.
TEST_P(Overtaking, WhoGaveUpWakesThoseBehind) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client quitter(open(), "quitter");
  Client next(open(), "next");
  bound(0, {&holder, &quitter, &next});
  until_conclusive([&](const std::string& name) {
    const Wanted wanted{write(name)};
    const Stamp held = holder.take(wanted).stamp;
    std::shared_ptr<WaitTicket> first;
    std::shared_ptr<WaitTicket> second;
    come(quitter, wanted, first);
    const Stopwatch watch;
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(holder.release(held));
    Result<AcquireOutcome> outcome = next.ask(wanted, {.will_wait = true});
    if (!is_kept(outcome)) {
      EXPECT_FALSE(in_time(began)) << test::describe(outcome);
      return false;
    }
    second = std::get<Busy>(*outcome).ticket;
    quitter.backend().end_wait(*first, soon());
    EXPECT_TRUE(next.backend().await_change(*second, BootClock::now() + 30s, {}));
    EXPECT_LT(watch.elapsed(), 15s) << "not woken, but run into its deadline";
    EXPECT_TRUE(next.take(wanted, {.will_wait = true, .ticket = second}).stamp);
    return true;
  });
}

// SEM 13: an older waiter is never held up by a younger one. Its set is not simply free: another
// client reads a name of it.
TEST_P(Overtaking, NothingIsKeptFromAnOlderReader) {
  Client holder = client("holder");
  Client older(open(), "older");
  Client younger(open(), "younger");
  holder.set_permits("*", Mode::read, 2);
  bound(0, {&holder, &older, &younger});
  holder.take({read("a")});
  const Stamp held = holder.take({write("b")}).stamp;
  const Wanted wanted{read("a"), write("b")};
  const Busy first = older.meet_busy(wanted, {.will_wait = true});
  const Busy second = younger.meet_busy({write("a")}, {.will_wait = true});
  ASSERT_TRUE(holder.release(held));
  EXPECT_TRUE(older.take(wanted, {.will_wait = true, .ticket = first.ticket}).stamp);
  younger.backend().end_wait(*second.ticket, soon());
}

// A bound that is set applies to all who ask afterwards, as every change of the configuration.
TEST_P(Overtaking, TheBoundIsAPartOfTheConfiguration) {
  Client c = client();
  EXPECT_EQ(c.config().max_overtakes, default_max_overtakes);
  const std::int64_t before = c.config().version;
  c.change(SetMaxOvertakes{7});
  EXPECT_EQ(c.config().max_overtakes, 7U);
  EXPECT_GT(c.config().version, before);
  Client other(open(), "other");
  EXPECT_EQ(other.config().max_overtakes, 7U);
  c.change(SetMaxOvertakes{unlimited_overtakes});
  other.reload();
  EXPECT_EQ(other.config().max_overtakes, unlimited_overtakes);
}

LOCKSET_CONFORMANCE_SUITE(Overtaking);

}  // namespace
}  // namespace lockset::conformance
