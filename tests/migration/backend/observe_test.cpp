// Observing, and acquiring on a condition, while locks move. SEM 21, 27, 28
#include <gtest/gtest.h>

#include <vector>

#include "lockset/locks.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using Phase = MigrationPhase;

Ask unchanged(const Trace& seen) { return {.unchanged_since = {{0, seen.last_write}}}; }

class MigrateObserve : public testing::Test {
 protected:
  // A client of one store alone.
  static Client alone(const std::shared_ptr<Backend>& store) { return Client(store, "alone"); }
  static void write_once(Client& client, const Wanted& wanted = a) {
    EXPECT_TRUE(client.release(client.take(wanted).stamp));
  }
  Pair pair;
};

TEST_F(MigrateObserve, EachPhaseAsksTheStoreThatGivesTheStamps) {
  struct Row {
    Phase phase;
    std::size_t old_calls, new_calls;
  };
  for (const Row& row :
       {Row{Phase::old_only, 1, 0}, Row{Phase::shadow, 1, 0}, Row{Phase::dual_old, 1, 0},
        Row{Phase::dual_new, 1, 1}, Row{Phase::new_only, 0, 1}, Row{Phase::closed, 0, 1},
        Row{Phase::finished, 0, 1}}) {
    SCOPED_TRACE(to_string(row.phase));
    Pair fresh;
    fresh.go_to(row.phase);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    const std::size_t old_before = process.to_old->calls();
    const std::size_t new_before = process.to_new->calls();
    const Trace seen = client.observe_one("a");
    EXPECT_EQ(process.to_old->calls() - old_before, row.old_calls);
    EXPECT_EQ(process.to_new->calls() - new_before, row.new_calls);
    const Stamp stamp = client.take(a).stamp;
    EXPECT_GT(stamp, seen.last_write);
    EXPECT_EQ(client.observe_one("a").last_write, stamp);
  }
}

// Writes of clients of the old store alone count, as long as they may write there.
TEST_F(MigrateObserve, AWriteInTheOldStoreAloneIsAChange) {
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  Client other = alone(pair.share_old());
  const Trace seen = client.observe_one("a");
  EXPECT_EQ(other.observe_one("a").last_write, seen.last_write);
  write_once(other);
  EXPECT_NE(client.observe_one("a").last_write, seen.last_write);
}

// It was taken in dual-old, or before, and is not in the new store.
TEST_F(MigrateObserve, InDualNewAHoldInTheOldStoreAloneIsSeen) {
  pair.go_to(Phase::dual_old);
  Client other = alone(pair.share_old());
  const Stamp stamp = other.take(a).stamp;
  pair.dual_old_to_dual_new();
  Client client = Pair::client(pair.open());
  EXPECT_TRUE(client.observe_one("a").being_written);
  EXPECT_TRUE(other.release(stamp));
  EXPECT_FALSE(client.observe_one("a").being_written);
}

// Nobody may observe through one store what is written in the other.
TEST_F(MigrateObserve, AClientOfOneStoreAloneIsRefusedWhereItsWritesWouldNotCount) {
  pair.go_to(Phase::dual_old);
  Locks old_alone = open(pair.own_old(), {.clock = &pair.old_clock}).value();
  const Observation seen = old_alone.observe({"a"}).value();
  EXPECT_TRUE(old_alone.validate(seen).value());
  pair.dual_old_to_dual_new();
  Client client = Pair::client(pair.open());
  write_once(client);
  const Result<bool> valid = old_alone.validate(seen);
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().code, Errc::misconfigured);
}

// The stamps of the two stores are two orders: an equal number says nothing.
TEST_F(MigrateObserve, WhenTheOtherStoreGivesTheStampsOldObservationsEnd) {
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  Client other = alone(pair.share_old());
  const Trace first = client.observe_one("a");
  // So that the new store has a trace of this name with the very same stamp.
  EXPECT_TRUE(std::holds_alternative<std::vector<Trace>>(
      pair.new_store()
          .observe({std::vector<std::string>{"a"},
                    pair.new_store().load_config(soon()).value().version, soon()})
          .value()));
  write_once(client);
  const Trace in_dual_old = client.observe_one("a");
  EXPECT_NE(in_dual_old.last_write, first.last_write);
  write_once(other);  // in the old store alone
  pair.dual_old_to_dual_new();
  const Trace in_dual_new = client.observe_one("a");
  EXPECT_NE(in_dual_new.last_write, in_dual_old.last_write);
  client.meet_changed(a, unchanged(in_dual_old));
  write_once(client);
  const Trace later = client.observe_one("a");
  pair.dual_new_to_dual_old();
  const Trace back = client.observe_one("a");
  for (const Trace& earlier : {first, in_dual_old, in_dual_new, later}) {
    EXPECT_GT(back.last_write, earlier.last_write);
  }
  EXPECT_TRUE(client.take(a, unchanged(back)).stamp);
}

// The old store did not hear of what was written in new-only.
TEST_F(MigrateObserve, AWayBackToTheStartEndsOldObservations) {
  Client other = alone(pair.share_old());
  const Trace seen = other.observe_one("a");
  pair.go_to(Phase::new_only);
  Client client = Pair::client(pair.open());
  write_once(client);
  pair.mark_new(Step::prepared);
  pair.dual_new_to_dual_old();
  pair.mark_old(Step::none);
  EXPECT_NE(other.observe_one("a").last_write, seen.last_write);
  other.meet_changed(a, unchanged(seen));
}

TEST_F(MigrateObserve, NothingIsObservedDuringASwitch) {
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  const std::vector<std::string> names{"a"};
  pair.mark_old(Step::to_new);
  client.reload();
  const auto outcome = client.backend().observe({names, client.config().version, soon()});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
}

// The version is that of the view: an observation from before a change of phase comes too late.
TEST_F(MigrateObserve, AnObservationFromAnotherPhaseIsStale) {
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  const std::vector<std::string> names{"a"};
  pair.dual_old_to_dual_new();
  const ObserveOutcome outcome =
      client.backend().observe({names, client.config().version, soon()}).value();
  EXPECT_TRUE(std::holds_alternative<Stale>(outcome));
}

// --- conditions ---

// SEM 28: the store that gives the stamp decides
TEST_F(MigrateObserve, AConditionHoldsInEachPhase) {
  for (const Phase phase : {Phase::old_only, Phase::shadow, Phase::dual_old, Phase::dual_new,
                            Phase::new_only, Phase::finished}) {
    SCOPED_TRACE(to_string(phase));
    Pair fresh;
    fresh.go_to(phase);
    Client client = Pair::client(fresh.open());
    Client other = Pair::client(fresh.open(), "other");
    const Trace seen = client.observe_one("a");
    const Stamp stamp = client.take(a, unchanged(seen)).stamp;
    EXPECT_TRUE(client.release(stamp));
    EXPECT_EQ(other.meet_changed(a, unchanged(seen)).trace.last_write, stamp);
    EXPECT_TRUE(fresh.in_any().empty());
    EXPECT_TRUE(other.take(a, {.unchanged_since = {{0, stamp}}}).stamp);
  }
}

// SEM 28: "never reported as changed because of its own grant". The old store grants, the new one
// is busy, and the part in the old store is given back.
TEST_F(MigrateObserve, APartThatWasGivenBackIsNoChange) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Trace seen = client.observe_one("a");
  for (int i = 0; i < 3; ++i) {
    // Something in the new store alone is in the way.
    Client there = alone(pair.share_new());
    const Stamp in_the_way = there.take(a).stamp;
    client.meet_busy(a, unchanged(seen));
    EXPECT_TRUE(pair.in_old().empty());
    EXPECT_EQ(client.observe_one("a").last_write, seen.last_write);
    EXPECT_TRUE(there.release(in_the_way));
  }
  const Stamp stamp = client.take(a, unchanged(seen)).stamp;
  EXPECT_EQ(client.observe_one("a").last_write, stamp);
  EXPECT_TRUE(client.release(stamp));
  client.meet_changed(a, unchanged(seen));
}

// What another client wrote after that is a change.
TEST_F(MigrateObserve, AWriteAfterAPartThatWasGivenBackIsAChange) {
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  const Trace seen = client.observe_one("a");
  Client there = alone(pair.share_new());
  const Stamp in_the_way = there.take(a).stamp;
  client.meet_busy(a, unchanged(seen));
  EXPECT_TRUE(there.release(in_the_way));
  Client other = alone(pair.share_old());
  write_once(other);
  EXPECT_NE(client.observe_one("a").last_write, seen.last_write);
  client.meet_changed(a, unchanged(seen));
}

// SEM 28: it comes before contention, although the old store is asked first
TEST_F(MigrateObserve, InDualNewABrokenConditionIsFoundBehindAHolder) {
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  Client other = Pair::client(pair.open(), "other");
  const Trace seen = client.observe_one("a");
  const Wanted both = {write("a"), write("b")};
  const Stamp on_b = other.take({write("b")}).stamp;
  Ask ask = unchanged(seen);
  ask.will_wait = true;
  const Busy busy = client.meet_busy(both, ask);
  ASSERT_TRUE(busy.ticket);
  write_once(other);
  ask.ticket = busy.ticket;
  client.meet_changed(both, ask);
  EXPECT_EQ(process.to_old->ended_waits, 1U);
  EXPECT_TRUE(pair.old_store().inspect({}, soon()).value().waiters.empty());
  EXPECT_TRUE(other.release(on_b));
  client.meet_changed(both, ask);
  EXPECT_TRUE(pair.in_any().empty());
}

// The wait is in the store that was busy, and the other one refuses.
TEST_F(MigrateObserve, ABrokenConditionEndsTheWaitInTheOtherStore) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Trace seen = client.observe_one("a");
  Client there = alone(pair.share_new());
  const Stamp in_the_way = there.take(a).stamp;
  Ask ask = unchanged(seen);
  ask.will_wait = true;
  const Busy busy = client.meet_busy(a, ask);
  ASSERT_TRUE(busy.ticket);
  Client other = alone(pair.share_old());
  write_once(other);
  ask.ticket = busy.ticket;
  client.meet_changed(a, ask);
  EXPECT_EQ(process.to_new->ended_waits, 1U);
  EXPECT_TRUE(there.release(in_the_way));
}

}  // namespace
}  // namespace lockset::test
