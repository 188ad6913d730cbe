// SEM 10: leases, judged by the store's clock. Bounds: a hold never ends before its lease (exact,
// up to the grain of the store's clock), and ends soon after it.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Leases : public Conformance {
 protected:
  // When another client could first take the name; TimePoint::max() if never.
  TimePoint freed(Client& other, const Wanted& wanted) {
    std::optional<Grant> grant;
    if (!eventually([&] { return (grant = other.try_take(wanted)).has_value(); })) {
      return TimePoint::max();
    }
    const TimePoint now = BootClock::now();
    other.release(grant->stamp);
    return now;
  }
  // A hold that was seen to have ended at `when` lived as long as its lease, counted from the
  // beginning of `watch`, and not much longer.
  static void expect_ended(const Stopwatch& watch, TimePoint when, Duration lease) {
    EXPECT_GE(when, watch.began() + lease - clock_grain) << "too early";
    EXPECT_LE(watch.elapsed(), lease + 3s) << "too late";
  }
};

// SEM 10: the grant reports the effective lease
TEST_P(Leases, TheGrantReportsTheEffectiveLease) {
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 30s});
  EXPECT_LE(grant.lease, 30s);
  EXPECT_GE(grant.lease, 29s);
}

// SEM 10: it ends at the lease's end, not before
TEST_P(Leases, EndAtTheLeasesEndAndNotBefore) {
  Client holder = client("holder");
  Client other(open(), "other");
  const Stopwatch watch;
  holder.take({write("a")}, {.lease = 200ms});
  expect_ended(watch, freed(other, {write("a")}), 200ms);
}

// SEM 10: inspection shows it for exactly that time
TEST_P(Leases, InspectionShowsAHoldUntilItsLeaseEnds) {
  Client c = client();
  const Stopwatch watch;
  const Grant grant = c.take({write("a")}, {.lease = 200ms});
  ASSERT_TRUE(eventually([&] { return !c.is_live(grant.stamp); }));
  expect_ended(watch, BootClock::now(), 200ms);
}

// SEM 10: a renewed lease counts from the renewal
TEST_P(Leases, ARenewalCountsFromItself) {
  Client holder = client("holder");
  Client other(open(), "other");
  const Grant grant = holder.take({write("a")}, {.lease = 4s});
  std::optional<Stopwatch> since_renewal;
  // Three renewals; each one is seen to last for its lease.
  for (int i = 0; i < 3; ++i) {
    const TimePoint until = BootClock::now() + 50ms;
    ASSERT_TRUE(eventually([&] {
      if (other.try_take({write("a")})) ADD_FAILURE() << "granted in spite of the hold";
      return BootClock::now() >= until;
    }));
    since_renewal.emplace();
    const std::optional<Renewal> renewal = holder.renew(grant.stamp, 4s);
    ASSERT_TRUE(renewal);
    EXPECT_EQ(renewal->lease, 4s);
  }
  expect_ended(*since_renewal, freed(other, {write("a")}), 4s);
}

// SEM 10: a hold that is renewed again and again stays, with its stamp
TEST_P(Leases, RenewalsKeepAHoldForManyLeases) {
  Client holder = client("holder");
  Client other(open(), "other");
  const Grant grant = holder.take({write("a")}, {.lease = 3s});
  const TimePoint until = BootClock::now() + 7s;
  while (BootClock::now() < until && !HasFailure()) {
    EXPECT_TRUE(holder.renew(grant.stamp, 3s));
    EXPECT_FALSE(other.try_take({write("a")}));
    linger(50ms);
  }
  EXPECT_TRUE(holder.is_live(grant.stamp));
}

// SEM 10: all holds of a process together: live holds are renewed, the others are reported, in the
// order of the request
TEST_P(Leases, ABatchRenewsEachByItself) {
  Client c = client();
  Client foreign = client("foreign");
  std::vector<RenewRequest> requests;
  std::vector<bool> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (i % 5 == 0) {
      const Stamp gone = c.take({write(name)}).stamp;
      ASSERT_TRUE(c.release(gone));
      requests.push_back({gone, 1min});
      expected.push_back(false);
    } else if (i % 7 == 0) {
      requests.push_back({foreign.take({write(name)}).stamp, 1min});
      expected.push_back(false);
    } else {
      requests.push_back({c.take({write(name), write(name + "+")}).stamp, 1min});
      expected.push_back(true);
    }
  }
  std::reverse(requests.begin() + 100, requests.begin() + 200);
  std::reverse(expected.begin() + 100, expected.begin() + 200);
  const RenewReply reply = backend()->renew(c.owner(), requests, soon()).value();
  ASSERT_EQ(reply.renewals.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(reply.renewals[i].has_value(), expected[i]) << "request " << i;
  }
}

// SEM 10: a batch renews all of its holds in time
TEST_P(Leases, ABatchSavesAllOfItsHolds) {
  Client c = client();
  std::vector<RenewRequest> requests;
  TimePoint last_end;  // of the leases as granted, or slightly later
  for (int i = 0; i < 100; ++i) {
    const Grant grant = c.take({write("n" + std::to_string(i))}, {.lease = 30s});
    requests.push_back({grant.stamp, 1min});
    last_end = BootClock::now() + grant.lease;
  }
  linger(300ms);
  const RenewReply reply = backend()->renew(c.owner(), requests, soon()).value();
  for (const auto& renewal : reply.renewals) ASSERT_TRUE(renewal);
  // If a renewal restores the lease of the grant, the holds end later than without it.
  EXPECT_TRUE(eventually([&] {
    const TimePoint asked = BootClock::now();
    const std::vector<HoldInfo> holds = c.holds();
    return holds.size() == 100 && std::all_of(holds.begin(), holds.end(), [&](const HoldInfo& h) {
             return traits().session_leases ? asked + h.remaining.value() > last_end
                                            : h.remaining.value() > 40s;
           });
  }));
}

TEST_P(Leases, AnEmptyBatchIsNothing) {
  Client c = client();
  const RenewReply reply = backend()->renew(c.owner(), {}, soon()).value();
  EXPECT_TRUE(reply.renewals.empty());
}

// SEM 10: "Renewing twice is harmless", within one batch too
TEST_P(Leases, TheSameStampTwiceInABatchIsHarmless) {
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 2s});
  const RenewRequest requests[] = {{grant.stamp, 1min}, {grant.stamp, 1min}};
  const RenewReply reply = backend()->renew(c.owner(), requests, soon()).value();
  ASSERT_EQ(reply.renewals.size(), 2U);
  EXPECT_TRUE(reply.renewals[0]);
  EXPECT_TRUE(reply.renewals[1]);
  EXPECT_EQ(c.holds().size(), 1U);
}

// SEM 10, 20: a renewal with a shorter lease, or a late one, shortens nothing: the holder still
// trusts the longer answer
TEST_P(Leases, ARenewalNeverShortens) {
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 1min});
  ASSERT_TRUE(c.renew(grant.stamp, 100ms));
  ASSERT_TRUE(c.holds().at(0).remaining);
  EXPECT_GT(*c.holds().at(0).remaining, 40s);
}

// SEM 10: "A hold is never renewed after expiry", not even if nobody asks for it
TEST_P(Leases, AreNeverRenewedAfterExpiry) {
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 30ms});
  ASSERT_TRUE(expired(c, {grant}));
  EXPECT_FALSE(c.renew(grant.stamp, 1min));
  EXPECT_FALSE(c.is_live(grant.stamp));
  EXPECT_TRUE(c.try_take({write("a")})) << "the name is free";
}

// SEM 9, 10: an expired hold can't be released either
TEST_P(Leases, AnExpiredHoldIsNotHeldByAnybody) {
  Client c = client();
  const Grant one = c.take({write("a")}, {.lease = 30ms});
  const Grant two = c.take({write("b")}, {.lease = 30ms});
  ASSERT_TRUE(expired(c, {one, two}));
  EXPECT_FALSE(c.release(one.stamp));
  EXPECT_FALSE(c.break_hold(two.stamp));
}

// SEM 9: no renewal by another application, and none after the release
TEST_P(Leases, OnlyTheOwnersApplicationRenews) {
  Client owner = client("owner");
  Client other = client("other");
  Client twin(open(), "owner");
  const Grant grant = owner.take({write("a")}, {.lease = 10s});
  EXPECT_FALSE(other.renew(grant.stamp, 5min));
  ASSERT_TRUE(owner.holds().at(0).remaining);
  EXPECT_LE(*owner.holds().at(0).remaining, 10s + clock_grain) << "nothing was changed for it";
  // If a hold lives in its taker's session, nobody else can renew it.
  EXPECT_EQ(twin.renew(grant.stamp, 1min).has_value(), !traits().session_leases);
  ASSERT_TRUE(owner.release(grant.stamp));
  EXPECT_FALSE(owner.renew(grant.stamp, 1min));
  EXPECT_TRUE(owner.holds().empty());
}

// SEM 10: "A set expires, is renewed and is removed as a whole"
TEST_P(Leases, ASetExpiresWhole) {
  const Wanted whole{write("a"), read("b"), write("c")};
  Client c = client();
  Client other(open(), "other");
  const Grant grant = c.take(whole, {.lease = 300ms});
  std::size_t taken = 0;
  ASSERT_TRUE(eventually([&] {
    for (const RawHold& hold : space().look()) {
      if (hold.stamp == grant.stamp && hold.items != whole) {
        ADD_FAILURE() << "only part is left: " << describe(hold.items);
      }
    }
    // If one of the names is free, the whole set must have ended.
    const char* const names[] = {"a", "b", "c"};
    if (other.try_take({write(names[taken])})) {
      ++taken;
      if (c.is_live(grant.stamp)) ADD_FAILURE() << names[taken - 1] << " was free too early";
    }
    return taken == 3 || HasFailure();
  }));
  EXPECT_FALSE(c.is_live(grant.stamp));
}

// SEM 10: the same, seen from each of its names, by three clients at once
TEST_P(Leases, NoPartOfASetIsFreeBeforeItsEnd) {
  const Wanted whole{write("a"), read("b"), write("c")};
  Client c = client();
  const Stopwatch watch;
  c.take(whole, {.lease = 300ms});
  run_threads(3, [&](std::size_t i) {
    Client other(open(), "other");
    const std::string name(1, static_cast<char>('a' + i));
    expect_ended(watch, freed(other, {write(name)}), 300ms);
  });
}

// SEM 10: inspection never shows an ended hold again, not even while the store is being tidied up
TEST_P(Leases, WhatInspectionShowsNoLongerIsNeverShownAgain) {
  Client c = client();
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    std::set<Stamp> shown;
    for (int i = 0; i < 50; ++i) {
      shown.insert(
          c.take({write(std::to_string(round) + "n" + std::to_string(i))}, {.lease = 20ms}).stamp);
    }
    // A few more looks after all have ended: they are being removed then.
    for (int looks = 10; looks > 0 && !HasFailure(); looks -= shown.empty() ? 1 : 0) {
      std::set<Stamp> now;
      for (const HoldInfo& hold : c.holds()) now.insert(hold.stamp);
      ASSERT_TRUE(std::includes(shown.begin(), shown.end(), now.begin(), now.end()))
          << "a hold that was gone is shown again, round " << round;
      shown = std::move(now);
    }
  }
}

// SEM 10: expired holds of names that nobody asks for are swept
TEST_P(Leases, ASweepRemovesWhatNobodyAsksFor) {
  if (skip_unless(traits().holds_outlive_connections, "expired holds that wait for a sweep"))
    return;
  Client c = client();
  constexpr std::size_t count = 25;
  for (std::size_t i = 0; i < count; ++i) {
    c.take({write("n" + std::to_string(i)), read("m" + std::to_string(i))}, {.lease = 30ms});
  }
  const Grant stays = c.take({write("stays")});
  // Inspection alone shows when all leases are over: it removes nothing.
  ASSERT_TRUE(eventually([&] { return c.holds().size() == 1; }));
  std::size_t removed = 0;
  const bool parts = harness().harness_traits().sweeps_parts;
  // A hold in two stores may end in one of them slightly later than inspection shows.
  ASSERT_TRUE(eventually([&] {
    removed += backend()->sweep(soon()).value();
    return (parts || removed >= count) && space().look().size() == 1;
  }));
  if (parts) {
    EXPECT_GT(removed, 0U);
    EXPECT_TRUE(eventually([&] { return backend()->sweep(soon()).value() == 0; }));
  } else {
    EXPECT_EQ(removed + backend()->sweep(soon()).value(), count);
  }
  EXPECT_EQ(space().look()[0].stamp, stays.stamp);
}

// SEM 10: the sweep touches no live hold
TEST_P(Leases, ASweepTouchesNoLiveHold) {
  Client c = client();
  c.take({write("a")}, {.lease = 1min});
  EXPECT_EQ(backend()->sweep(soon()).value(), 0U);
  EXPECT_EQ(space().look().size(), 1U);
}

// SEM 10: "An expired hold ends only when a transaction has removed it": the store has no trace of
// it next to the next holder
TEST_P(Leases, TheNextGrantRemovesTheExpiredHold) {
  Client c = client();
  ASSERT_TRUE(expired(c, {c.take({write("a"), write("b")}, {.lease = 30ms})}));
  const Grant next = c.take({write("b")});
  const std::vector<RawHold> raw = space().look();
  ASSERT_EQ(raw.size(), 1U) << "the expired hold is still there, beside the new one";
  EXPECT_EQ(raw[0].stamp, next.stamp);
}

// SEM 10: a renewal and an acquire race at the end of the lease; they never both succeed
TEST_P(Leases, ARenewalAndAGrantNeverBothSucceed) {
  const int rounds = this->rounds(60, 30);
  // Later after each renewal that was in time, earlier after each that was not: so the race
  // converges to the end of the lease, and stays there. On a busy machine that takes more rounds.
  Duration lease = traits().session_leases ? 50ms : 20ms;
  Duration pause = lease * 4 / 5;
  int all_kept = 0;
  int all_taken = 0;
  const auto both = [&] { return all_kept > 0 && all_taken > 0; };
  for (int round = 0; (round < rounds || (!both() && round < 20 * rounds)) && !HasFailure();
       ++round) {
    const std::string name = "n" + std::to_string(round);
    Client holder = client("holder");
    const Grant grant = holder.take({write(name)}, {.lease = lease});
    std::optional<Stamp> next;
    TimePoint granted{};  // latest time of the grant to the other client
    TimePoint kept_until{};
    std::atomic<bool> done = false;
    run_threads(2, [&](std::size_t i) {
      if (i == 0) {
        Client other(open(), "other");
        eventually(
            [&] {
              if (const std::optional<Grant> got = other.try_take({write(name)})) {
                granted = BootClock::now();
                next = got->stamp;
              }
              return next || done;
            },
            3 * patience);
        return;
      }
      linger(pause);
      const TimePoint asked = BootClock::now();
      const std::optional<Renewal> renewal = holder.renew(grant.stamp, 1min);
      if (!renewal) return;
      // A minute, or the lease of the grant if renewals restore that.
      kept_until = asked + renewal->lease - clock_grain;
      done = true;
    });
    const bool kept = kept_until != TimePoint{};
    EXPECT_FALSE(kept && next && granted < kept_until)
        << "round " << round << ": renewed and granted to another";
    EXPECT_TRUE(kept || next) << "round " << round << ": neither";
    const bool live = holder.is_live(grant.stamp);
    if (!kept) {
      EXPECT_FALSE(live);
    } else if (BootClock::now() < kept_until) {
      EXPECT_TRUE(live);
    }
    ++(kept ? all_kept : all_taken);
    const Duration step = both() ? Duration(500us) : std::max<Duration>(500us, pause / 4);
    if (kept) {
      pause += step;
    } else if (pause > step) {
      pause -= step;
    } else {
      lease *= 2;  // even an immediate renewal was too late
    }
  }
  EXPECT_GT(all_kept, 0);
  EXPECT_GT(all_taken, 0);
}

LOCKSET_CONFORMANCE_SUITE(Leases);

}  // namespace
}  // namespace lockset::conformance
