// Taking a hold: in the old store, in both, in the new one; and everything that may happen between
// the two requests of a dual grant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "backends/migrate/hold_tag.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using migrate::HoldTag;
using migrate::tag_of;
using Phase = MigrationPhase;
using testing::IsEmpty;
using testing::SizeIs;

const Wanted shared_a = {read("a")};

// The migration that a hold of this phase names.
std::uint32_t migration_in(Phase phase) { return phase == Phase::old_only ? 0 : the_migration; }

Errc code_of(const Result<AcquireOutcome>& outcome) {
  return outcome ? Errc::internal : outcome.error().code;
}

// An attempt whose outcome its client does not know, because one store had a fault.
Token unanswered(Client& client, Way& faulty, Fault fault, const Wanted& wanted = a) {
  faulty.faults().script(Call::try_acquire, fault);
  const Token token = Token::random();
  EXPECT_EQ(code_of(client.ask(wanted, {.token = token})), Errc::indeterminate);
  return token;
}

class MigrateAcquire : public testing::Test {
 protected:
  void let_readers_share() {
    for (Backend* const store : {&pair.old_store(), &pair.new_store()}) {
      (void)store->change_config(SetPermits{"*", Mode::read, 10}, soon()).value();
    }
  }
  Pair pair;
};

TEST_F(MigrateAcquire, EachPhaseTakesInItsStoresAndSaysSo) {
  struct Row {
    Phase phase;
    bool old_part, new_part;
    Phase tag;
  };
  for (const Row& row : {Row{Phase::old_only, true, false, Phase::old_only},
                         Row{Phase::dual_old, true, true, Phase::dual_old},
                         Row{Phase::dual_new, true, true, Phase::dual_new},
                         Row{Phase::new_only, false, true, Phase::new_only},
                         Row{Phase::closed, false, true, Phase::new_only},
                         Row{Phase::finished, false, true, Phase::new_only}}) {
    SCOPED_TRACE(to_string(row.phase));
    Pair fresh;
    fresh.go_to(row.phase);
    Client client = Pair::client(fresh.open());
    const Stamp stamp = client.take(a).stamp;
    const auto old_holds = fresh.in_old();
    const auto new_holds = fresh.in_new();
    ASSERT_EQ(old_holds.size(), row.old_part ? 1 : 0);
    ASSERT_EQ(new_holds.size(), row.new_part ? 1 : 0);
    if (row.old_part) {
      EXPECT_EQ(tag_of(old_holds[0].owner.instance), (HoldTag{row.tag, {}, migration_in(row.tag)}));
    }
    if (row.new_part) {
      const Stamp beside = row.old_part ? old_holds[0].stamp : Stamp{};
      EXPECT_EQ(tag_of(new_holds[0].owner.instance),
                (HoldTag{row.tag, beside, migration_in(row.tag)}));
    }
    const bool new_gives = row.phase >= Phase::dual_new;
    EXPECT_EQ(stamp, (new_gives ? new_holds : old_holds)[0].stamp);
  }
}

TEST_F(MigrateAcquire, DualTakesTheOldPartFirstAndPassesItsStampOn) {
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  std::size_t in_old = 9, in_new = 9;
  process.to_new->before(Call::try_acquire, [&] {
    in_old = pair.in_old().size();
    in_new = pair.in_new().size();
  });
  const Stamp stamp = client.take(a).stamp;
  EXPECT_EQ(in_old, 1);
  EXPECT_EQ(in_new, 0);
  // The new store's own clock is an hour behind.
  EXPECT_GE(stamp, pair.in_old()[0].stamp);
}

TEST_F(MigrateAcquire, CallersMinStampGoesToBothStores) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    Pair fresh;
    fresh.go_to(phase);
    Client client = Pair::client(fresh.open());
    const Stamp high{INT64_MAX / 2};
    EXPECT_GE(client.take(a, {.min_stamp = high}).stamp, high);
    EXPECT_GE(fresh.in_new()[0].stamp, high);
  }
}

TEST_F(MigrateAcquire, LeaseIsTheShorterOfBoth) {
  pair.go_to(Phase::dual_old);
  (void)pair.new_store().change_config(SetMaxLease{std::chrono::seconds(20)}, soon()).value();
  Client client = Pair::client(pair.open());
  EXPECT_EQ(client.config().max_lease, std::chrono::seconds(20));
}

TEST_F(MigrateAcquire, LowerPermitsOfBothStoresCount) {
  pair.go_to(Phase::dual_old);
  (void)pair.old_store().change_config(SetPermits{"*", Mode::read, 3}, soon()).value();
  (void)pair.new_store().change_config(SetPermits{"a", Mode::read, 2}, soon()).value();
  Client client = Pair::client(pair.open());
  (void)client.take(shared_a);
  (void)client.take(shared_a);
  (void)client.meet_busy(shared_a);
  EXPECT_THAT(pair.in_old(), SizeIs(2));
  (void)client.take({read("b")});
  (void)client.meet_busy({read("b")});  // busy by the new store's default
}

TEST_F(MigrateAcquire, BusyInTheNewStoreGivesTheOldPartBack) {
  pair.go_to(Phase::dual_old);
  Client other(std::shared_ptr<Backend>(&pair.new_store(), [](Backend*) {}), "other");
  const Stamp there = other.take(a).stamp;
  Client client = Pair::client(pair.open());
  const Busy busy = client.meet_busy(a);
  EXPECT_EQ(busy.holder, there);
  EXPECT_THAT(pair.in_old(), IsEmpty());
  ASSERT_TRUE(other.release(there));
  (void)client.take(a);
}

TEST_F(MigrateAcquire, GiveBackOfLostReplyIsInDoubtAndResolvedToNothing) {
  for (const Fault fault : {Fault::lose_reply, Fault::fail_before, Fault::delay}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Pair fresh;
    fresh.go_to(Phase::dual_old);
    Client other(std::shared_ptr<Backend>(&fresh.new_store(), [](Backend*) {}), "other");
    const Stamp there = other.take(a).stamp;
    const Process process = fresh.open();
    Client client = Pair::client(process);
    process.to_old->faults().script(Call::release, fault);
    const Token token = Token::random();
    EXPECT_EQ(code_of(client.ask(a, {.token = token})), Errc::indeterminate);
    EXPECT_FALSE(client.resolve(token));
    EXPECT_THAT(fresh.in_old(), IsEmpty());
    // A late give-back affects nobody.
    ASSERT_TRUE(other.release(there));
    (void)client.take(a);
    (void)process.to_old->faults().deliver_late();
    EXPECT_THAT(fresh.in_old(), SizeIs(1));
  }
}

// A request to give back its old part may still be under way when the new part arrives.
TEST_F(MigrateAcquire, WhatWasGivenUpIsNoHoldWhenItsOtherPartArrives) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_new, Fault::delay);
  process.to_old->faults().script(Call::release, Fault::delay);
  ASSERT_FALSE(process.backend->resolve(token, soon()));
  (void)process.to_new->faults().deliver_late();
  ASSERT_THAT(pair.in_old(), SizeIs(1));
  ASSERT_THAT(pair.in_new(), SizeIs(1));
  EXPECT_FALSE(client.resolve(token));
  (void)process.to_old->faults().deliver_late();
  EXPECT_THAT(pair.in_any(), IsEmpty());
}

// The record in the new store names the old part that was taken with it.
TEST_F(MigrateAcquire, PartsOfTwoDeliveriesAreNoHold) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_new, Fault::lose_reply);
  ASSERT_THAT(pair.in_old(), SizeIs(1));
  ASSERT_TRUE(pair.old_store().break_hold(pair.in_old()[0].stamp, soon()).value());
  Client again(std::shared_ptr<Backend>(&pair.old_store(), [](Backend*) {}), "app");
  ASSERT_TRUE(again.ask(a, {.token = token}));
  ASSERT_THAT(pair.in_old(), SizeIs(1));
  EXPECT_FALSE(client.resolve(token));
  EXPECT_THAT(pair.in_any(), IsEmpty());
}

TEST_F(MigrateAcquire, NewStoreDownMeansUnavailableAndNothingLeft) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  process.to_new->faults().script(Call::try_acquire, Fault::fail_before);
  EXPECT_EQ(code_of(client.ask(a)), Errc::unavailable);
  EXPECT_THAT(pair.in_any(), IsEmpty());
}

TEST_F(MigrateAcquire, OldStoreDownMeansThatTheNewOneIsNotAsked) {
  for (const Fault fault : {Fault::fail_before, Fault::lose_reply, Fault::delay}) {
    Pair fresh;
    fresh.go_to(Phase::dual_new);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    process.to_old->faults().script(Call::try_acquire, fault);
    const Token token = Token::random();
    EXPECT_EQ(code_of(client.ask(a, {.token = token})),
              fault == Fault::fail_before ? Errc::unavailable : Errc::indeterminate);
    EXPECT_EQ(process.to_new->faults().calls(Call::try_acquire), 0);
    if (fault == Fault::fail_before) continue;
    (void)process.to_old->faults().deliver_late();
    ASSERT_THAT(fresh.in_old(), SizeIs(1));
    EXPECT_FALSE(client.resolve(token));
    EXPECT_THAT(fresh.in_old(), IsEmpty());
  }
}

// --- attempts of unknown outcome ---

TEST_F(MigrateAcquire, LostReplyOfTheNewStoreIsFoundWhole) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    Pair fresh;
    fresh.go_to(phase);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    const Token token = unanswered(client, *process.to_new, Fault::lose_reply);
    const std::optional<Grant> found = client.resolve(token);
    ASSERT_TRUE(found);
    const auto holds = phase == Phase::dual_old ? fresh.in_old() : fresh.in_new();
    EXPECT_EQ(found->stamp, holds.at(0).stamp);
    EXPECT_TRUE(client.release(found->stamp));
    EXPECT_THAT(fresh.in_any(), IsEmpty());
  }
}

TEST_F(MigrateAcquire, NewPartThatArrivesAfterTheOldOneWasGivenBackIsTidiedUp) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_new, Fault::delay);
  EXPECT_FALSE(client.resolve(token));
  EXPECT_THAT(pair.in_old(), IsEmpty());
  EXPECT_EQ(process.to_new->faults().deliver_late(), 1);
  EXPECT_THAT(pair.in_new(), SizeIs(1));
  EXPECT_THAT(client.holds(), IsEmpty());
  EXPECT_FALSE(client.resolve(token));
  EXPECT_THAT(pair.in_new(), IsEmpty());
}

TEST_F(MigrateAcquire, HalfOfAnAttemptThatCantBeGivenBackNowStaysInDoubt) {
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_new, Fault::delay);
  process.to_old->faults().script(Call::release, Fault::fail_before);
  EXPECT_FALSE(process.backend->resolve(token, soon()));
  EXPECT_THAT(pair.in_old(), SizeIs(1));
  EXPECT_FALSE(client.resolve(token));
  EXPECT_THAT(pair.in_old(), IsEmpty());
}

TEST_F(MigrateAcquire, AttemptIsResolvedInThePhaseInWhichItWasMade) {
  // Taken in shadow, found in dual-old: it is in the old store only, and complete.
  pair.go_to(Phase::shadow);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_old, Fault::lose_reply);
  pair.mark_old(Step::dual_old);
  client.reload();
  ASSERT_EQ(pair.in_old().size(), 1);
  const std::optional<Grant> found = client.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_TRUE(client.renew(found->stamp, std::chrono::seconds(30)));
  EXPECT_TRUE(client.release(found->stamp));
  EXPECT_THAT(pair.in_old(), IsEmpty());
}

TEST_F(MigrateAcquire, AttemptOfDualNewIsFoundWhenTheOldStoreIsNotLookedAtAnyMore) {
  let_readers_share();
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Token token = unanswered(client, *process.to_new, Fault::lose_reply, shared_a);
  // The marks go so far that the cached configurations no longer fit together, and both are read
  // again.
  pair.mark_new(Step::open);
  pair.mark_old(Step::closed);
  pair.mark_new(Step::done);
  client.reload();
  const std::optional<Grant> found = client.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stamp, pair.in_new().at(0).stamp);
  EXPECT_EQ(found->floors, std::vector<Stamp>{found->stamp});
}

// --- a mark that changes between two calls ---

struct Change {
  const char* name;
  Phase from;
  std::function<void(Pair&)> make;
  Phase to;
};

std::vector<Change> changes_of_a_dual_phase() {
  return {
      {"dual_old to to_new", Phase::dual_old, [](Pair& p) { p.mark_old(Step::to_new); },
       Phase::dual_old},
      {"dual_old to dual_new", Phase::dual_old, [](Pair& p) { p.dual_old_to_dual_new(); },
       Phase::dual_new},
      {"dual_old to shadow", Phase::dual_old, [](Pair& p) { p.mark_old(Step::shadow); },
       Phase::shadow},
      {"dual_new to open", Phase::dual_new, [](Pair& p) { p.mark_new(Step::open); },
       Phase::new_only},
      {"dual_new to dual_old", Phase::dual_new, [](Pair& p) { p.dual_new_to_dual_old(); },
       Phase::dual_old},
      {"dual_new to closed", Phase::dual_new,
       [](Pair& p) {
         p.mark_new(Step::open);
         p.mark_old(Step::closed);
       },
       Phase::closed},
  };
}

TEST_F(MigrateAcquire, MarkThatChangesBeforeTheFirstRequestRefusesIt) {
  for (const Change& change : changes_of_a_dual_phase()) {
    SCOPED_TRACE(change.name);
    Pair fresh;
    fresh.go_to(change.from);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    process.to_old->before(Call::try_acquire, [&] { change.make(fresh); });
    const Result<AcquireOutcome> outcome = client.ask_once(a);
    // A grant of the phase that is over must not be returned.
    if (outcome) {
      EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << describe(outcome);
    } else {
      EXPECT_EQ(outcome.error().code, Errc::unavailable);
    }
    EXPECT_THAT(fresh.in_any(), IsEmpty());
  }
}

TEST_F(MigrateAcquire, MarkThatChangesBetweenTheTwoRequestsGrantsWholeHoldsOnly) {
  for (const Change& change : changes_of_a_dual_phase()) {
    SCOPED_TRACE(change.name);
    Pair fresh;
    fresh.go_to(change.from);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    process.to_new->before(Call::try_acquire, [&] { change.make(fresh); });
    const Result<AcquireOutcome> outcome = client.ask_once(a);
    ASSERT_TRUE(outcome) << outcome.error().message;
    if (const Grant* const grant = std::get_if<Grant>(&*outcome)) {
      // The old store's mark changed, and the part there was granted before: it is a hold of the
      // earlier phase.
      ASSERT_THAT(fresh.in_old(), SizeIs(1));
      ASSERT_THAT(fresh.in_new(), SizeIs(1));
      EXPECT_EQ(tag_of(fresh.in_new()[0].owner.instance),
                (HoldTag{change.from, fresh.in_old()[0].stamp, the_migration}));
      EXPECT_EQ(grant->stamp,
                (change.from == Phase::dual_old ? fresh.in_old() : fresh.in_new())[0].stamp);
      // ... which is right only if the new store's mark did not change.
      EXPECT_EQ(change.from, Phase::dual_old);
    } else {
      EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << describe(outcome);
      EXPECT_THAT(fresh.in_any(), IsEmpty());
    }
    // It continues in the present phase. A switching one ends on its own, but that takes longer.
    if (std::string_view(change.name) == "dual_old to to_new") fresh.mark_old(Step::dual_new);
    (void)client.take({write("b")});
    const auto stands = [](const std::vector<HoldInfo>& holds, std::optional<Phase> but_not) {
      return std::any_of(holds.begin(), holds.end(), [&](const HoldInfo& hold) {
        const auto tag = tag_of(hold.owner.instance);
        return hold.items[0].name == "b" && (!tag || tag->phase != but_not);
      });
    };
    EXPECT_EQ(stands(fresh.in_new(), Phase::shadow), change.to >= Phase::dual_old);
    EXPECT_EQ(stands(fresh.in_old(), {}), change.to <= Phase::dual_new);
  }
}

// From every phase to every neighbour, with a process that saw only the earlier phase.
TEST_F(MigrateAcquire, ProcessThatSleptThroughStepsTakesInThePhaseOfNow) {
  const Phase phases[] = {Phase::old_only, Phase::shadow, Phase::dual_old, Phase::dual_new,
                          Phase::new_only, Phase::closed, Phase::finished};
  for (const Phase from : phases) {
    for (const Phase to : phases) {
      if (to < from) continue;
      SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      Pair fresh;
      fresh.go_to(from);
      const Process process = fresh.open();
      Client client = Pair::client(process);
      (void)client.take({write("before")});
      if (to != from) fresh.go_to(to);
      const Stamp stamp = client.take(a).stamp;
      const auto has = [&](const std::vector<HoldInfo>& holds) {
        return std::any_of(holds.begin(), holds.end(),
                           [](const HoldInfo& hold) { return hold.items[0].name == "a"; });
      };
      EXPECT_EQ(has(fresh.in_old()), to <= Phase::dual_new);
      EXPECT_TRUE(client.release(stamp));
      EXPECT_FALSE(has(fresh.in_old()));
    }
  }
}

TEST_F(MigrateAcquire, ProcessThatSleptFindsTheSwitchThoughTheOldStoreIsGone) {
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  pair.mark_new(Step::open);
  process.to_old->down = true;
  // The first attempt finds that the old store does not answer, the next one finds out why.
  EXPECT_EQ(code_of(client.ask(a)), Errc::unavailable);
  (void)client.take(a);
  // A client that only looks does, too.
  const Process other = pair.open();
  Client looking = Pair::client(other);
  EXPECT_THAT(looking.holds(), SizeIs(1));
}

TEST_F(MigrateAcquire, ProcessThatSleptFindsTheWayBackThoughTheNewStoreIsGone) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  pair.mark_old(Step::shadow);
  process.to_new->down = true;
  client.reload();
  EXPECT_THAT(client.holds(), IsEmpty());
  (void)client.take(a);
}

// --- stamps and floors ---

TEST_F(MigrateAcquire, StampsOnlyGrowForwardAndBack) {
  pair.mark_new(Step::prepared);
  pair.mark_old(Step::shadow);
  Client client = Pair::client(pair.open());
  Stamp last;
  const auto grows = [&](const char* where) {
    // A trial of the shadow may block the first acquire after it.
    std::optional<Grant> grant;
    ASSERT_TRUE(eventually([&] { return (grant = client.try_take(a)).has_value(); })) << where;
    const Stamp stamp = grant->stamp;
    EXPECT_GT(stamp, last) << where;
    last = stamp;
    EXPECT_TRUE(client.release(stamp)) << where;
  };
  grows("shadow");
  pair.mark_old(Step::dual_old);
  grows("dual_old");
  pair.dual_old_to_dual_new();
  grows("dual_new");
  pair.mark_new(Step::open);
  grows("new_only");
  // The new store's clock overtakes the old one's.
  pair.new_clock.advance(std::chrono::hours(3));
  grows("new_only, later");
  pair.mark_new(Step::prepared);
  grows("dual_new, on the way back");
  pair.dual_new_to_dual_old();
  grows("dual_old, on the way back");
  pair.mark_old(Step::shadow);
  grows("shadow again");
}

TEST_F(MigrateAcquire, FloorsAreNeverAboveAHoldOfAnEarlierPhase) {
  let_readers_share();
  pair.go_to(Phase::shadow);
  Client client = Pair::client(pair.open());
  std::vector<Stamp> live;
  const auto share = [&](const char* where) {
    const Grant grant = client.take(shared_a);
    live.push_back(grant.stamp);
    ASSERT_THAT(grant.floors, SizeIs(1)) << where;
    for (const Stamp each : live) EXPECT_LE(grant.floors[0], each) << where;
  };
  share("shadow");
  pair.mark_old(Step::dual_old);
  share("dual_old");
  pair.dual_old_to_dual_new();
  share("dual_new");
  // Holds of earlier phases end: then the floor is the new store's. The shadow ends its trial in
  // the new store a moment after the hold that it follows; until then the floor may be lower.
  ASSERT_TRUE(client.release(live[0]));
  ASSERT_TRUE(client.release(live[1]));
  live.erase(live.begin(), live.begin() + 2);
  EXPECT_TRUE(eventually([&] {
    const Grant grant = client.take(shared_a);
    EXPECT_LE(grant.floors.at(0), live[0]);
    EXPECT_TRUE(client.release(grant.stamp));
    return grant.floors.at(0) == live[0];
  }));
  share("dual_new alone");
  pair.mark_new(Step::open);
  share("new_only");
  pair.mark_new(Step::prepared);
  share("dual_new, on the way back");
}

TEST_F(MigrateAcquire, FloorsAfterTheWayBackAreNotAboveHoldsOfDualNew) {
  let_readers_share();
  pair.go_to(Phase::dual_new);
  Client client = Pair::client(pair.open());
  const Stamp before = client.take(shared_a).stamp;
  pair.dual_new_to_dual_old();
  const Grant grant = client.take(shared_a);
  EXPECT_GT(grant.stamp, before);
  EXPECT_LE(grant.floors.at(0), before);
}

TEST_F(MigrateAcquire, BusyNamesTheHolderByTheStampThatItsOwnerKnows) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    Pair fresh;
    fresh.go_to(phase);
    Client holder = Pair::client(fresh.open(), "holder");
    const Stamp stamp = holder.take(a).stamp;
    Client other = Pair::client(fresh.open(), "other");
    EXPECT_EQ(other.meet_busy(a).holder, stamp);
  }
}

// --- waiting ---

TEST_F(MigrateAcquire, WaitInTheOldStoreIsEndedOnceWhenOnlyTheNewOneCounts) {
  pair.go_to(Phase::dual_new);
  Client holder = Pair::client(pair.open(), "holder");
  const Stamp held = holder.take(a).stamp;
  const Process process = pair.open();
  Client waiter = Pair::client(process);
  const Busy busy = waiter.meet_busy(a, {.will_wait = true});
  ASSERT_TRUE(busy.ticket);
  pair.mark_new(Step::open);
  process.to_old->down = true;
  waiter.reload();
  const Ask again{
      .will_wait = true, .ticket = busy.ticket, .by = BootClock::now() + std::chrono::seconds(8)};
  const auto outcome = waiter.ask(a, again);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(process.to_old->ended_waits, 1);
  // It leaves most of its time to the store that decides.
  EXPECT_LT(process.to_old->given(Call::await_change), std::chrono::seconds(4));
  (void)waiter.ask(a, again);
  EXPECT_EQ(process.to_old->ended_waits, 1);
  EXPECT_TRUE(holder.break_hold(held));
}

TEST_F(MigrateAcquire, RegistrationThatAGrantedOldPartEndedIsNotUsedAgain) {
  pair.go_to(Phase::dual_old);
  Client holder = Pair::client(pair.open(), "holder");
  const Stamp held = holder.take(a).stamp;
  const Process process = pair.open();
  Client waiter = Pair::client(process);
  const Busy busy = waiter.meet_busy(a, {.will_wait = true});
  ASSERT_TRUE(holder.release(held));
  // The old part is granted, which ends the registration there; then the new store answers "stale".
  const Ask again{.will_wait = true, .ticket = busy.ticket};
  process.to_new->before(Call::try_acquire, [&] { pair.mark_new(Step::prepared); });
  const auto first = waiter.ask_once(a, again);
  ASSERT_TRUE(first && std::holds_alternative<Stale>(*first)) << describe(first);
  EXPECT_NE(process.to_old->last_ticket.load(), nullptr);
  waiter.reload();
  const auto second = waiter.ask_once(a, again);
  ASSERT_TRUE(second && std::holds_alternative<Grant>(*second)) << describe(second);
  EXPECT_EQ(process.to_old->last_ticket.load(), nullptr);
}

// --- between two phases ---

TEST_F(MigrateAcquire, NothingIsGrantedWhileAMarkIsBeingSwitched) {
  for (const Step step : {Step::to_new, Step::to_old}) {
    Pair fresh;
    fresh.go_to(step == Step::to_new ? Phase::dual_old : Phase::dual_new);
    const Process process = fresh.open();
    Client client = Pair::client(process);
    const Stamp held = client.take({write("held")}).stamp;
    fresh.mark_old(step);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of(client.ask(a)), Errc::unavailable);
    Client opened_now = Pair::client(fresh.open());
    EXPECT_EQ(code_of(opened_now.ask(a)), Errc::unavailable);
    EXPECT_THAT(fresh.in_old(), SizeIs(1));
    EXPECT_THAT(fresh.in_new(), SizeIs(1));
    // Existing holds are kept, and can be released.
    EXPECT_TRUE(client.renew(held, std::chrono::seconds(30)));
    EXPECT_TRUE(client.release(held));
  }
}

TEST_F(MigrateAcquire, SwitchThatNobodyEndsIsSetBackAfterFiveSecondsAndTheLateStepFails) {
  pair.go_to(Phase::dual_old);
  Pair back;
  back.go_to(Phase::dual_new);
  Client forward_client = Pair::client(pair.open());
  Client back_client = Pair::client(back.open());
  pair.mark_old(Step::to_new);
  back.mark_old(Step::to_old);
  const SpaceConfig seen = pair.old_store().load_config(soon()).value();
  const SpaceConfig seen_back = back.old_store().load_config(soon()).value();
  const TimePoint began = BootClock::now();
  const auto taken = [](Client& client) {
    const auto outcome = client.ask(a);
    return outcome && std::holds_alternative<Grant>(*outcome);
  };
  bool forward_taken = false, back_taken = false;
  ASSERT_TRUE(eventually(
      [&] {
        forward_taken = forward_taken || taken(forward_client);
        back_taken = back_taken || taken(back_client);
        return forward_taken && back_taken;
      },
      3 * patience));
  EXPECT_GE(BootClock::now() - began, std::chrono::seconds(5));
  const auto step_of = [](Backend& store) {
    return MigrationMark::decode(store.load_config(soon()).value().migration_phase).value().step;
  };
  EXPECT_EQ(step_of(pair.old_store()), Step::dual_old);
  EXPECT_EQ(step_of(back.old_store()), Step::dual_new);
  // The process that began the switch comes too late.
  const MigrationMark late{Step::dual_new, the_migration};
  (void)pair.old_store().change_config(SetMigrationPhase{late.encode(), seen.version}, soon());
  EXPECT_EQ(step_of(pair.old_store()), Step::dual_old);
  const MigrationMark late_back{Step::dual_old, the_migration};
  (void)back.old_store().change_config(SetMigrationPhase{late_back.encode(), seen_back.version},
                                       soon());
  EXPECT_EQ(step_of(back.old_store()), Step::dual_new);
}

TEST_F(MigrateAcquire, SwitchThatMovesOnBeginsItsFiveSecondsAnew) {
  // The raised stamp base gives another version: the steering process is alive.
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  pair.mark_old(Step::to_new);
  ASSERT_EQ(code_of(client.ask(a)), Errc::unavailable);
  const TimePoint first_seen = BootClock::now();
  TimePoint moved_on;
  bool set_back = false;
  ASSERT_TRUE(eventually(
      [&] {
        if (moved_on == TimePoint{} && BootClock::now() - first_seen > std::chrono::seconds(3)) {
          (void)pair.old_store().change_config(RaiseStampBase{{1}}, soon()).value();
          moved_on = BootClock::now();
        }
        const auto outcome = client.ask(a);
        set_back = outcome && std::holds_alternative<Grant>(*outcome);
        return set_back;
      },
      3 * patience));
  EXPECT_GE(BootClock::now() - moved_on, std::chrono::seconds(5));
}

}  // namespace
}  // namespace lockset::test
