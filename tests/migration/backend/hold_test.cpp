// Holds in one store or in both: renewing, ending, showing and reclaiming them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/migration/backend/pair.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using std::chrono::seconds;
using Phase = MigrationPhase;
using testing::IsEmpty;
using testing::SizeIs;

Stamp in_old_of(Pair& pair, const char* name) {
  for (const HoldInfo& hold : pair.in_old()) {
    if (hold.items[0].name == name) return hold.stamp;
  }
  return {};
}
Stamp in_new_of(Pair& pair, const char* name) {
  for (const HoldInfo& hold : pair.in_new()) {
    if (hold.items[0].name == name) return hold.stamp;
  }
  return {};
}

class MigrateHold : public testing::TestWithParam<Phase> {
 protected:
  Pair pair;
};

// --- renewing ---

TEST_P(MigrateHold, RenewalKeepsBothParts) {
  pair.go_to(GetParam());
  Client client = Pair::client(pair.open());
  const Stamp stamp = client.take(a, {.lease = seconds(10)}).stamp;
  const auto renewal = client.renew(stamp, seconds(60));
  ASSERT_TRUE(renewal);
  EXPECT_GE(renewal->lease, seconds(60));
  EXPECT_GT(*pair.in_old().at(0).remaining, seconds(50));
  EXPECT_GT(*pair.in_new().at(0).remaining, seconds(50));
}

TEST_P(MigrateHold, RenewalIsGoodForTheShorterOfBoth) {
  pair.go_to(GetParam());
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Stamp stamp = client.take(a, {.lease = seconds(10)}).stamp;
  for (const auto& way : {process.to_old, process.to_new}) {
    way->other_lease = seconds(5);
    const auto renewal = client.renew(stamp, seconds(60));
    ASSERT_TRUE(renewal);
    EXPECT_EQ(renewal->lease, seconds(5));
    way->other_lease.reset();
  }
}

TEST_P(MigrateHold, EitherPartLostIsTheHoldLostAndTheOtherGivenBack) {
  for (const bool lose_old : {true, false}) {
    Pair fresh;
    fresh.go_to(GetParam());
    Client client = Pair::client(fresh.open());
    const Stamp stamp = client.take(a).stamp;
    Backend& store = lose_old ? fresh.old_store() : fresh.new_store();
    const Stamp part = (lose_old ? fresh.in_old() : fresh.in_new()).at(0).stamp;
    ASSERT_TRUE(store.break_hold(part, soon()).value());
    EXPECT_FALSE(client.renew(stamp, seconds(30)));
    EXPECT_THAT(fresh.in_any(), IsEmpty());
    EXPECT_FALSE(client.release(stamp));
  }
}

TEST_P(MigrateHold, PartLostIsTheHoldLostAlsoWhenTheOtherStoreIsAway) {
  for (const bool lose_old : {true, false}) {
    Pair fresh;
    fresh.go_to(GetParam());
    const Process process = fresh.open();
    Client client = Pair::client(process);
    const Stamp stamp = client.take(a).stamp;
    Backend& store = lose_old ? fresh.old_store() : fresh.new_store();
    const Stamp part = (lose_old ? fresh.in_old() : fresh.in_new()).at(0).stamp;
    ASSERT_TRUE(store.break_hold(part, soon()).value());
    (lose_old ? process.to_new : process.to_old)->down = true;
    const RenewRequest request{stamp, seconds(30)};
    const auto reply = process.backend->renew(client.owner(), {&request, 1}, soon());
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->answered(0));
    EXPECT_FALSE(reply->renewals.at(0));
  }
}

TEST_P(MigrateHold, OneStoreAwayIsAnErrorWhereNothingWasAnswered) {
  for (const bool old_away : {true, false}) {
    Pair fresh;
    fresh.go_to(GetParam());
    const Process process = fresh.open();
    Client client = Pair::client(process);
    const Stamp stamp = client.take(a).stamp;
    (old_away ? process.to_old : process.to_new)->down = true;
    const RenewRequest request{stamp, seconds(30)};
    EXPECT_FALSE(process.backend->renew(client.owner(), {&request, 1}, soon()));
    (old_away ? process.to_old : process.to_new)->down = false;
    EXPECT_TRUE(client.renew(stamp, seconds(30)));
  }
}

TEST_P(MigrateHold, PermanentHoldIsPermanentInBoth) {
  pair.go_to(GetParam());
  Client client = Pair::client(pair.open());
  const Stamp stamp = client.take(a).stamp;
  ASSERT_TRUE(client.make_permanent(stamp));
  EXPECT_FALSE(pair.in_old().at(0).remaining);
  EXPECT_FALSE(pair.in_new().at(0).remaining);
  EXPECT_FALSE(client.holds().at(0).remaining);
}

// --- ending ---

TEST_P(MigrateHold, OwnerAndOtherProcessesEndItInBothStores) {
  for (const bool by_owner : {true, false}) {
    for (const bool breaking : {true, false}) {
      Pair fresh;
      fresh.go_to(GetParam());
      Client owner = Pair::client(fresh.open());
      Client other = Pair::client(fresh.open());
      const Stamp stamp = owner.take(a).stamp;
      Client& ends = by_owner ? owner : other;
      EXPECT_TRUE(breaking ? ends.break_hold(stamp) : ends.release(stamp));
      EXPECT_THAT(fresh.in_any(), IsEmpty());
      EXPECT_FALSE(owner.release(stamp));
      EXPECT_FALSE(other.release(stamp));
    }
  }
}

TEST_P(MigrateHold, OtherApplicationsReleaseTouchesNothing) {
  pair.go_to(GetParam());
  const Process process = pair.open();
  Client owner = Pair::client(process);
  Client thief = Pair::client(process, "thief");
  const Stamp stamp = owner.take(a).stamp;
  EXPECT_FALSE(thief.release(stamp));
  // Not even if it is known only in part that it was refused.
  process.to_old->faults().script(Call::release, Fault::fail_before);
  EXPECT_FALSE(process.backend->release(stamp, "thief", soon()));
  EXPECT_TRUE(owner.renew(stamp, seconds(30)));
  EXPECT_TRUE(owner.release(stamp));
  EXPECT_THAT(pair.in_any(), IsEmpty());
}

TEST_P(MigrateHold, RetryAfterAnyFaultOfEitherStoreEndsItWholeAndIsCountedOnce) {
  for (const bool old_store : {true, false}) {
    for (const Fault fault : {Fault::lose_reply, Fault::fail_before}) {
      SCOPED_TRACE(testing::Message() << old_store << static_cast<int>(fault));
      Pair fresh;
      fresh.go_to(GetParam());
      const Process process = fresh.open();
      Client client = Pair::client(process);
      const Stamp stamp = client.take(a).stamp;
      (old_store ? process.to_old : process.to_new)->faults().script(Call::release, fault);
      const Result<bool> first = process.backend->release(stamp, "app", soon());
      ASSERT_FALSE(first);
      // The other store has ended its part by now: "certainly not applied" would be wrong.
      EXPECT_EQ(first.error().code, Errc::indeterminate);
      const bool retried = client.release(stamp);
      EXPECT_THAT(fresh.in_any(), IsEmpty());
      // If its reply was lost, the store that decides has answered "yes" to nobody.
      const bool decides = old_store == (GetParam() == Phase::dual_old);
      EXPECT_EQ(retried, !(decides && fault == Fault::lose_reply));
      EXPECT_FALSE(client.release(stamp));
    }
  }
}

TEST_P(MigrateHold, BothStoresAwayIsUnavailableAndNothingHappened) {
  pair.go_to(GetParam());
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Stamp stamp = client.take(a).stamp;
  process.to_old->down = process.to_new->down = true;
  EXPECT_EQ(process.backend->release(stamp, "app", soon()).error().code, Errc::unavailable);
  process.to_old->down = process.to_new->down = false;
  EXPECT_TRUE(client.release(stamp));
}

TEST_P(MigrateHold, OfTwoWhoEndItAtOnceOneSucceeds) {
  pair.go_to(GetParam());
  const Process one = pair.open();
  const Process two = pair.open();
  Client owner = Pair::client(one);
  for (int round = 0; round < 50; ++round) {
    const Stamp stamp = owner.take(a).stamp;
    std::atomic<int> ended = 0;
    run_threads(4, [&](std::size_t i) {
      Backend& backend = *(i < 2 ? one : two).backend;
      if (i % 2 == 0 ? backend.release(stamp, "app", soon()).value()
                     : backend.break_hold(stamp, soon()).value()) {
        ++ended;
      }
    });
    ASSERT_EQ(ended, 1);
  }
}

// The second call comes at every point of the first one.
TEST_P(MigrateHold, SecondReleaseOfTheSameProcessBetweenTheCallsOfTheFirst) {
  for (const bool at_old : {true, false}) {
    for (const bool before : {true, false}) {
      SCOPED_TRACE(testing::Message() << at_old << before);
      Pair fresh;
      fresh.go_to(GetParam());
      const Process process = fresh.open();
      Client client = Pair::client(process);
      const Stamp stamp = client.take(a).stamp;
      int ended = 0;
      const auto second = [&] { ended += process.backend->release(stamp, "app", soon()).value(); };
      Way& way = *(at_old ? process.to_old : process.to_new);
      if (before) {
        way.before(Call::release, second);
      } else {
        way.after(Call::release, second);
      }
      ended += process.backend->release(stamp, "app", soon()).value();
      EXPECT_EQ(ended, 1);
      EXPECT_THAT(fresh.in_any(), IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dual, MigrateHold, testing::Values(Phase::dual_old, Phase::dual_new),
                         [](const auto& each) {
                           return each.param == Phase::dual_old ? "dual_old" : "dual_new";
                         });

// --- across phases ---

class MigrateHolds : public testing::Test {
 protected:
  Pair pair;
};

TEST_F(MigrateHolds, HoldsOfDifferentPhasesAreRenewedInOneCallAndEndedEachWhereItStands) {
  pair.go_to(Phase::shadow);
  const Process process = pair.open();
  Client client = Pair::client(process);
  std::vector<RenewRequest> requests;
  const auto take = [&](const char* name) {
    const Stamp stamp = client.take({write(name)}).stamp;
    requests.push_back({stamp, seconds(300)});
  };
  take("shadow");
  pair.mark_old(Step::dual_old);
  take("dual_old");
  pair.dual_old_to_dual_new();
  take("dual_new");
  auto reply = process.backend->renew(client.owner(), requests, soon()).value();
  ASSERT_THAT(reply.renewals, SizeIs(3));
  for (const auto& renewal : reply.renewals) EXPECT_TRUE(renewal);
  for (const HoldInfo& hold : pair.in_old()) EXPECT_GT(*hold.remaining, seconds(250));

  // The new store is down: that does not affect a hold that has no part there.
  process.to_new->down = true;
  reply = process.backend->renew(client.owner(), requests, soon()).value();
  EXPECT_TRUE(reply.answered(0));
  EXPECT_TRUE(reply.renewals[0]);
  EXPECT_FALSE(reply.answered(1));
  EXPECT_FALSE(reply.answered(2));
  EXPECT_FALSE(reply.renewals[1] || reply.renewals[2]);
  process.to_new->down = false;

  process.to_old->down = true;
  EXPECT_FALSE(process.backend->renew(client.owner(), requests, soon()));
  process.to_old->down = false;
  // The earlier one is lost; the others are not.
  ASSERT_TRUE(pair.old_store().break_hold(requests[0].hold.stamp, soon()).value());
  reply = process.backend->renew(client.owner(), requests, soon()).value();
  EXPECT_FALSE(reply.renewals[0]);
  EXPECT_TRUE(reply.answered(0));
  EXPECT_TRUE(reply.renewals[1] && reply.renewals[2]);
  EXPECT_TRUE(client.release(requests[1].hold.stamp));
  EXPECT_TRUE(client.release(requests[2].hold.stamp));
  EXPECT_THAT(pair.in_old(), IsEmpty());
}

TEST_F(MigrateHolds, HoldThatCantBeLookedUpDoesNotKeepTheOthersFromBeingRenewed) {
  pair.go_to(Phase::shadow);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Stamp mine = client.take(a).stamp;
  pair.mark_old(Step::dual_old);
  client.reload();
  process.to_new->down = true;
  // For example, another thread has just released it.
  const RenewRequest requests[] = {{mine, seconds(30)}, {Stamp{12345}, seconds(30)}};
  const auto reply = process.backend->renew(client.owner(), requests, soon());
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(reply->renewals.at(0));
  EXPECT_FALSE(reply->answered(1));
}

TEST_F(MigrateHolds, RenewalOfNothingThatIsThereTellsThePassingTimeAllTheSame) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Grant grant = client.take(a);
  ASSERT_TRUE(client.release(grant.stamp));
  const RenewRequest request{grant.stamp, seconds(30)};
  const auto reply = process.backend->renew(client.owner(), {&request, 1}, soon()).value();
  EXPECT_FALSE(reply.renewals.at(0));
  EXPECT_GE(reply.store_time_us, grant.store_time_us);
  EXPECT_LT(reply.store_time_us - grant.store_time_us, 60'000'000);
}

TEST_F(MigrateHolds, OtherProcessEndsHoldsOfEarlierPhases) {
  pair.go_to(Phase::old_only);
  Client owner = Pair::client(pair.open());
  Client other = Pair::client(pair.open());
  const Stamp of_old_only = owner.take({write("o")}).stamp;
  pair.mark_new(Step::prepared);
  pair.mark_old(Step::shadow);
  const Stamp of_shadow = owner.take({write("s")}).stamp;
  pair.mark_old(Step::dual_old);
  const Stamp of_dual_old = owner.take({write("d")}).stamp;
  EXPECT_TRUE(other.break_hold(of_old_only));
  pair.dual_old_to_dual_new();
  EXPECT_TRUE(other.break_hold(of_shadow));
  const Stamp of_dual_new = owner.take({write("n")}).stamp;
  EXPECT_TRUE(other.release(of_dual_old));
  EXPECT_EQ(in_new_of(pair, "d"), Stamp{});
  pair.mark_new(Step::open);
  EXPECT_TRUE(other.break_hold(of_dual_new));
  EXPECT_EQ(in_old_of(pair, "n"), Stamp{});
  EXPECT_EQ(in_new_of(pair, "n"), Stamp{});
}

TEST_F(MigrateHolds, OldPartsStampIsNoNameForAHoldOfDualNew) {
  pair.go_to(Phase::dual_new);
  Client owner = Pair::client(pair.open());
  Client other = Pair::client(pair.open());
  // The new store is ahead: the two stamps differ.
  pair.new_clock.advance(std::chrono::hours(5));
  const Stamp stamp = owner.take(a).stamp;
  const Stamp part = in_old_of(pair, "a");
  ASSERT_NE(stamp, part);
  EXPECT_FALSE(other.break_hold(part));
  EXPECT_TRUE(other.is_live(stamp));
  EXPECT_FALSE(other.is_live(part));
}

// --- inspecting ---

TEST_F(MigrateHolds, InspectShowsEachHoldOnceByTheStampThatItsOwnerKnows) {
  pair.go_to(Phase::shadow);
  Client owner = Pair::client(pair.open());
  Client other = Pair::client(pair.open());
  std::vector<Stamp> live;
  const auto check = [&](const char* where) {
    std::vector<Stamp> shown;
    for (const HoldInfo& hold : other.holds()) {
      shown.push_back(hold.stamp);
      EXPECT_EQ(hold.owner.instance, owner.owner().instance) << where;
    }
    EXPECT_EQ(shown, live) << where;
    shown.clear();
    for (const HoldInfo& hold : owner.inspect({InspectQuery::Match::name, "x2"}).holds) {
      shown.push_back(hold.stamp);
    }
    EXPECT_EQ(shown.size(), live.size() >= 2 ? 1 : 0) << where;
  };
  const auto take = [&] {
    live.push_back(owner.take({write("x" + std::to_string(live.size() + 1))}).stamp);
  };
  pair.new_clock.advance(std::chrono::hours(5));
  take();
  check("shadow");
  pair.mark_old(Step::dual_old);
  take();
  check("dual_old");
  pair.dual_old_to_dual_new();
  take();
  check("dual_new");
  // Back again, with holds from all phases.
  pair.dual_new_to_dual_old();
  take();
  check("dual_old again");
  pair.dual_old_to_dual_new();
  check("dual_new again");
  ASSERT_TRUE(owner.release(live[0]));
  live.erase(live.begin());
  pair.mark_new(Step::open);
  std::vector<Stamp> shown;
  for (const HoldInfo& hold : other.holds()) shown.push_back(hold.stamp);
  EXPECT_EQ(shown, live);
}

TEST_F(MigrateHolds, InspectAfterTheWayBackToShadowShowsWhatWasTakenInBoth) {
  pair.go_to(Phase::dual_old);
  Client owner = Pair::client(pair.open());
  const Stamp stamp = owner.take(a).stamp;
  pair.mark_old(Step::shadow);
  Client other = Pair::client(pair.open());
  EXPECT_TRUE(other.is_live(stamp));
  EXPECT_TRUE(owner.renew(stamp, seconds(30)));
  EXPECT_TRUE(owner.release(stamp));
  EXPECT_FALSE(other.is_live(stamp));
  EXPECT_THAT(pair.in_new(), IsEmpty());
}

// Even after a quick way back, its owner knows it by its stamp in the new store.
TEST_F(MigrateHolds, AHoldOfDualNewKeepsItsStampOnTheWayBack) {
  for (const bool old_only : {false, true}) {
    SCOPED_TRACE(old_only);
    Pair fresh;
    fresh.go_to(Phase::dual_new);
    fresh.new_clock.advance(std::chrono::hours(5));
    Client owner = Pair::client(fresh.open());
    const Stamp stamp = owner.take(a).stamp;
    const Stamp second = owner.take({write("b")}).stamp;
    const Stamp part = in_old_of(fresh, "a");
    ASSERT_NE(stamp, part);
    fresh.dual_new_to_dual_old();
    fresh.mark_old(Step::shadow);
    if (old_only) fresh.mark_old(Step::none);
    const Process process = fresh.open();
    Client other = Pair::client(process);
    const Stamp of_old = other.take({write("c")}).stamp;
    EXPECT_TRUE(other.is_live(stamp));
    EXPECT_FALSE(other.is_live(part));
    EXPECT_TRUE(other.is_live(of_old));
    EXPECT_TRUE(other.renew(stamp, seconds(30)));
    EXPECT_TRUE(owner.renew(stamp, seconds(30)));
    EXPECT_TRUE(other.release(stamp));
    EXPECT_FALSE(owner.is_live(stamp));
    EXPECT_EQ(in_new_of(fresh, "a"), Stamp{});
    // Without the new store nobody knows its stamp; it is still shown.
    process.to_new->down = true;
    EXPECT_TRUE(other.is_live(in_old_of(fresh, "b")));
    process.to_new->down = false;
    EXPECT_TRUE(other.break_hold(second));
    EXPECT_TRUE(other.release(of_old));
  }
}

TEST_F(MigrateHolds, InspectShowsNoHalves) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    for (const bool half_in_old : {true, false}) {
      SCOPED_TRACE(testing::Message() << to_string(phase) << half_in_old);
      Pair fresh;
      fresh.go_to(phase);
      Client owner = Pair::client(fresh.open());
      (void)owner.take(a);
      if (half_in_old) {
        ASSERT_TRUE(fresh.new_store().break_hold(in_new_of(fresh, "a"), soon()).value());
      } else {
        ASSERT_TRUE(fresh.old_store().break_hold(in_old_of(fresh, "a"), soon()).value());
      }
      EXPECT_THAT(owner.holds(), IsEmpty());
    }
  }
}

TEST_F(MigrateHolds, InspectShowsTheEarlierEndOfBoth) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    for (const bool old_away : {true, false}) {
      Pair fresh;
      fresh.go_to(phase);
      const Process process = fresh.open();
      Client owner = Pair::client(process);
      const Stamp stamp = owner.take(a, {.lease = seconds(20)}).stamp;
      // Only one store receives the renewal.
      Way& away = *(old_away ? process.to_old : process.to_new);
      away.down = true;
      const RenewRequest request{stamp, seconds(200)};
      EXPECT_FALSE(process.backend->renew(owner.owner(), {&request, 1}, soon()));
      away.down = false;
      EXPECT_LE(owner.holds().at(0).remaining.value(), seconds(20));
    }
  }
}

TEST_F(MigrateHolds, SweepCountsAHoldOnceAlsoIfItsPartsEndAtDifferentTimes) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    for (const bool old_first : {true, false}) {
      SCOPED_TRACE(std::string(to_string(phase)) +
                   (old_first ? ", old part first" : ", new part first"));
      Pair fresh;
      fresh.go_to(phase);
      const Process process = fresh.open();
      (void)Pair::client(process).take(a, {.lease = seconds(20)});
      const auto sweep = [&] { return process.backend->sweep(soon()).value(); };
      EXPECT_EQ(sweep(), 0U);
      StoreClock& first = old_first ? fresh.old_clock : fresh.new_clock;
      StoreClock& second = old_first ? fresh.new_clock : fresh.old_clock;
      first.advance(seconds(30));
      const std::size_t removed = sweep();
      second.advance(seconds(30));
      EXPECT_EQ(removed + sweep(), 1U);
      EXPECT_EQ(sweep(), 0U);
    }
  }
}

// --- applications ---

TEST_F(MigrateHolds, NewerInstanceReclaimsInBothStores) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    SCOPED_TRACE(to_string(phase));
    Pair fresh;
    fresh.go_to(phase);
    const Process first = fresh.open();
    Client before = Pair::client(first);
    const Stamp own = before.take({write("@app:app")}).stamp;
    EXPECT_EQ(first.backend->reclaim("app", own.value, soon()).value(), 0);
    Client first_instance = Pair::client(first, "app", own.value);
    EXPECT_EQ(first_instance.config().epochs.at("app"), own.value);
    const Stamp left = first_instance.take(a).stamp;
    ASSERT_TRUE(first_instance.release(own));

    const Process second = fresh.open();
    Client taking_over = Pair::client(second);
    const Stamp epoch = taking_over.take({write("@app:app")}).stamp;
    EXPECT_EQ(second.backend->reclaim("app", epoch.value, soon()).value(), 1);
    EXPECT_EQ(second.backend->reclaim("app", epoch.value, soon()).value(), 0);
    EXPECT_FALSE(first_instance.renew(left, seconds(30)));
    EXPECT_EQ(in_old_of(fresh, "a"), Stamp{});
    EXPECT_EQ(in_new_of(fresh, "a"), Stamp{});
    first_instance.reload();
    EXPECT_GT(first_instance.config().epochs.at("app"), own.value);
    taking_over.reload();
    EXPECT_EQ(taking_over.config().epochs.at("app"), epoch.value);
    // A lower epoch comes too late.
    EXPECT_EQ(first.backend->reclaim("app", own.value, soon()).error().code, Errc::superseded);
  }
}

TEST_F(MigrateHolds, InstanceKnowsItsEpochAndANewerOneInEveryPhaseAfter) {
  pair.go_to(Phase::dual_old);
  const Process first = pair.open();
  Client old_instance = Pair::client(first);
  pair.new_clock.advance(std::chrono::hours(5));  // epochs differ between the stores
  const Stamp own = old_instance.take({write("@app:app")}).stamp;
  (void)first.backend->reclaim("app", own.value, soon()).value();
  const auto epoch_seen = [&] {
    old_instance.reload();
    return old_instance.config().epochs.at("app");
  };
  EXPECT_EQ(epoch_seen(), own.value);
  pair.dual_old_to_dual_new();
  EXPECT_EQ(epoch_seen(), own.value);
  pair.mark_new(Step::open);
  EXPECT_EQ(epoch_seen(), own.value);
  // A newer instance, opened in this phase.
  ASSERT_TRUE(old_instance.release(own));
  const Process second = pair.open();
  Client newer = Pair::client(second);
  const Stamp epoch = newer.take({write("@app:app")}).stamp;
  (void)second.backend->reclaim("app", epoch.value, soon()).value();
  EXPECT_GT(epoch_seen(), own.value);
}

TEST_F(MigrateHolds, ReclaimAfterThePhaseMovedEndsTheOldInstancesHolds) {
  pair.go_to(Phase::shadow);
  const Process first = pair.open();
  Client old_instance = Pair::client(first);
  (void)old_instance.take(a);
  const Process second = pair.open();
  Client newer = Pair::client(second);
  const Stamp epoch = newer.take({write("@app:app")}).stamp;
  pair.mark_old(Step::dual_old);
  EXPECT_EQ(second.backend->reclaim("app", epoch.value, soon()).value(), 1);
  EXPECT_EQ(in_old_of(pair, "a"), Stamp{});
  Client owner = Pair::client(second, "app", epoch.value);
  EXPECT_EQ(owner.config().epochs.at("app"), epoch.value);
  // From now on it takes in both stores, as the same instance. Not the earlier name: a trial of the
  // shadow may remain there until its lease ends.
  const Stamp stamp = owner.take({write("b")}).stamp;
  EXPECT_TRUE(owner.renew(stamp, seconds(30)));
}

TEST_F(MigrateHolds, ReclaimOfWhatIsNotLive) {
  for (const Phase phase : {Phase::shadow, Phase::dual_old, Phase::dual_new, Phase::new_only}) {
    Pair fresh;
    fresh.go_to(phase);
    const Process process = fresh.open();
    EXPECT_EQ(process.backend->reclaim("app", 12345, soon()).error().code, Errc::not_held);
  }
}

TEST_F(MigrateHolds, LostReplyOfReclaimIsAskedAgain) {
  pair.go_to(Phase::dual_new);
  const Process process = pair.open();
  Client client = Pair::client(process);
  const Stamp epoch = client.take({write("@app:app")}).stamp;
  for (Way* const way : {process.to_old.get(), process.to_new.get()}) {
    way->faults().script(Call::reclaim, Fault::lose_reply);
    EXPECT_EQ(process.backend->reclaim("app", epoch.value, soon()).error().code,
              Errc::indeterminate);
  }
  EXPECT_TRUE(process.backend->reclaim("app", epoch.value, soon()));
}

// --- changing the configuration ---

TEST_F(MigrateHolds, PermitsAreChangedInEveryStoreThatCountsOrWillCount) {
  const auto readers = [](Backend& store) {
    return store.load_config(soon()).value().permits_of("p").read;
  };
  struct Row {
    Phase phase;
    std::uint32_t in_old, in_new;
  };
  for (const Row& row :
       {Row{Phase::old_only, 5, 1}, Row{Phase::shadow, 5, 5}, Row{Phase::dual_old, 5, 5},
        Row{Phase::dual_new, 5, 5}, Row{Phase::new_only, 1, 5}, Row{Phase::closed, 1, 5}}) {
    SCOPED_TRACE(to_string(row.phase));
    Pair fresh;
    fresh.go_to(row.phase);
    Client client = Pair::client(fresh.open());
    client.set_permits("p", Mode::read, 5);
    EXPECT_EQ(readers(fresh.old_store()), row.in_old);
    EXPECT_EQ(readers(fresh.new_store()), row.in_new);
    EXPECT_EQ(client.config().permits_of("p").read, 5);
  }
}

TEST_F(MigrateHolds, PhaseThatBeginsDuringAChangeOfPermitsGetsItToo) {
  pair.go_to(Phase::old_only);
  pair.mark_new(Step::prepared);
  const Process process = pair.open();
  Client client = Pair::client(process);
  process.to_old->before(Call::change_config, [&] {
    pair.mark_old(Step::shadow);
    pair.mark_old(Step::dual_old);
  });
  client.set_permits("p", Mode::read, 5);
  EXPECT_EQ(pair.new_store().load_config(soon()).value().permits_of("p").read, 5);
  EXPECT_EQ(client.config().permits_of("p").read, 5);
}

TEST_F(MigrateHolds, ChangeThatReachesOneStoreAloneSaysSo) {
  pair.go_to(Phase::dual_old);
  const Process process = pair.open();
  process.to_new->faults().script(Call::change_config, Fault::fail_before);
  const SetPermits change{"p", Mode::read, 5};
  EXPECT_EQ(process.backend->change_config(change, soon()).error().code, Errc::indeterminate);
  process.to_old->faults().script(Call::change_config, Fault::fail_before);
  EXPECT_EQ(process.backend->change_config(change, soon()).error().code, Errc::unavailable);
  EXPECT_EQ(process.backend->change_config(change, soon()).value().permits_of("p").read, 5);
}

TEST_F(MigrateHolds, PhaseIsNotChangedByAProgram) {
  const Process process = pair.open();
  EXPECT_EQ(process.backend->change_config(SetMigrationPhase{1}, soon()).error().code,
            Errc::unsupported);
}

// A hold that lost its part in the new store is over. Nobody can renew the remaining part, not even
// by its stamp.
// SEM 10
TEST(MigrateLostPart, IsNotRenewedByItsOtherPart) {
  for (const bool own_process : {true, false}) {
    for (const Phase now : {Phase::dual_old, Phase::dual_new}) {
      SCOPED_TRACE(std::string(own_process ? "own, " : "another, ") + std::string(to_string(now)));
      Pair pair;
      pair.go_to(Phase::dual_old);
      const Process process = pair.open();
      Client client = Pair::client(process);
      const Stamp stamp = client.take({write("a")}).stamp;
      ASSERT_TRUE(pair.new_store().break_hold(pair.in_new().at(0).stamp, soon()).value());
      if (now == Phase::dual_new) pair.dual_old_to_dual_new();
      if (own_process) {
        // It learns about the loss, and can't give back the other part at this moment.
        process.to_old->faults().script(Call::release, Fault::fail_before);
        EXPECT_FALSE(client.renew(stamp, std::chrono::seconds(30)));
        ASSERT_EQ(pair.in_old().size(), 1);
      }
      const Process other_process = pair.open();
      Client asking = own_process ? client : Pair::client(other_process);
      EXPECT_FALSE(asking.renew(stamp, std::chrono::seconds(30)));
      EXPECT_TRUE(pair.in_any().empty()) << "it is given back";
    }
  }
}

}  // namespace
}  // namespace lockset::test
