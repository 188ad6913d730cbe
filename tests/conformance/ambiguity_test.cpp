// SEM 14: changes that were perhaps applied. A FaultyBackend makes the faults.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/conformance/suite.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

using test::Call;
using test::Fault;
using test::FaultyBackend;

class Ambiguity : public Conformance {
 protected:
  std::shared_ptr<FaultyBackend> faulty() {
    return std::make_shared<FaultyBackend>(open(), test::test_seed());
  }
  static void expect_lost(const Result<AcquireOutcome>& outcome) {
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::indeterminate);
  }
};

// SEM 14: before the request arrives there is nothing
TEST_P(Ambiguity, AnUnknownTokenResolvesToNothing) {
  Client c = client();
  EXPECT_FALSE(c.resolve(Token::random()));
  c.take({write("a")});
  EXPECT_FALSE(c.resolve(Token::random()));
}

// SEM 14: the token finds the grant, and what is left of its lease
TEST_P(Ambiguity, ATokenResolvesToItsGrant) {
  Client c = client();
  const Token token = Token::random();
  const Grant other = c.take({write("other")});
  const Grant grant = c.take({write("a"), read("b")}, {.lease = 30s, .token = token});
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stamp, grant.stamp);
  EXPECT_NE(found->stamp, other.stamp);
  EXPECT_LE(found->lease, 30s + clock_grain);
  EXPECT_GT(found->lease, 15s);
  if (!traits().holds_outlive_connections) return;
  EXPECT_EQ(Client(open()).resolve(token).value().stamp, grant.stamp) << "from any client";
}

// SEM 8, 14: the grant that is found is complete, floors included
TEST_P(Ambiguity, AResolvedGrantHasItsFloors) {
  if (skip_unless(traits().floors, "floors")) return;
  Client c = client();
  c.set_permits("a", Mode::read, 2);
  const Grant older = c.take({read("a")});
  const Token token = Token::random();
  const Grant grant = c.take({read("a"), write("b")}, {.token = token});
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->floors, (std::vector<Stamp>{older.stamp, grant.stamp}));
}

// SEM 14: a hold that has ended is not found
TEST_P(Ambiguity, AnEndedHoldResolvesToNothing) {
  Client c = client();
  const Token released = Token::random();
  ASSERT_TRUE(c.release(c.take({write("a")}, {.token = released}).stamp));
  EXPECT_FALSE(c.resolve(released));

  const Token broken = Token::random();
  ASSERT_TRUE(c.break_hold(c.take({write("b")}, {.token = broken}).stamp));
  EXPECT_FALSE(c.resolve(broken));

  const Token over = Token::random();
  const Grant grant = c.take({write("c")}, {.lease = 30ms, .token = over});
  ASSERT_TRUE(expired(c, {grant}));
  EXPECT_FALSE(c.resolve(over)) << "expired, though nobody removed it";
}

// SEM 14: a busy attempt leaves nothing to be found
TEST_P(Ambiguity, ABusyAttemptResolvesToNothing) {
  Client c = client();
  c.take({write("a")});
  const Token token = Token::random();
  c.meet_busy({write("a"), write("b")}, {.token = token});
  EXPECT_FALSE(c.resolve(token));
}

// SEM 14: renewals change the rest of the lease
TEST_P(Ambiguity, ResolveSeesRenewals) {
  Client c = client();
  const Token token = Token::random();
  const Grant grant = c.take({write("a")}, {.lease = 5s, .token = token});
  const TimePoint granted = BootClock::now();
  // If a renewal only restores the lease, some of the lease has to run out first.
  if (traits().session_leases) {
    ASSERT_TRUE(eventually([&] { return BootClock::now() >= granted + 500ms; }));
  }
  const Duration before = c.resolve(token).value().lease;
  ASSERT_TRUE(c.renew(grant.stamp, 1min));
  EXPECT_GT(c.resolve(token).value().lease, traits().session_leases ? before : Duration(40s));
}

// SEM 14: unavailable means certainly not applied
TEST_P(Ambiguity, WhatFailsBeforeLeavesNothing) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::fail_before);
  const Token token = Token::random();
  const Result<AcquireOutcome> outcome = c.ask({write("a")}, {.token = token});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  EXPECT_FALSE(c.resolve(token));
  EXPECT_TRUE(space().look().empty());
}

// SEM 14: the reply of a grant is lost; the token finds it, and it can be used
TEST_P(Ambiguity, ALostGrantIsFoundAndUsed) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::lose_reply);
  const Token token = Token::random();
  expect_lost(c.ask({write("a"), write("b")}, {.token = token}));
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_TRUE(c.renew(found->stamp, 1min));
  client().meet_busy({write("b")});
  EXPECT_TRUE(c.release(found->stamp));
}

// SEM 14: a lost reply never becomes a hold that outlives its lease
TEST_P(Ambiguity, ALostGrantEndsWithItsLease) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::lose_reply);
  const TimePoint asked = BootClock::now();
  expect_lost(c.ask({write("a")}, {.lease = 150ms}));
  Client other(open(), "other");
  ASSERT_TRUE(eventually([&] { return other.try_take({write("a")}).has_value(); }));
  EXPECT_GE(BootClock::now(), asked + 150ms - clock_grain);
}

// SEM 14, contract: "Nothing" may turn into a grant later, while the request is still on its way
TEST_P(Ambiguity, ADelayedGrantComesLateAndEndsWithItsLease) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::delay);
  const Token token = Token::random();
  expect_lost(c.ask({write("a")}, {.lease = 150ms, .token = token}));
  EXPECT_FALSE(c.resolve(token));
  const TimePoint before = BootClock::now();
  ASSERT_EQ(bad->deliver_late(), 1U);
  EXPECT_TRUE(c.resolve(token) || BootClock::now() >= before + 150ms - clock_grain);
  EXPECT_TRUE(eventually([&] { return client().try_take({write("a")}).has_value(); }));
}

// SEM 7, 14: a delayed request that meets another configuration is not granted any more
TEST_P(Ambiguity, ADelayedRequestIsStaleAfterAChange) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::delay);
  const Token token = Token::random();
  expect_lost(c.ask({write("a")}, {.token = token}));
  client().set_permits("other", Mode::read, max_permits);
  ASSERT_EQ(bad->deliver_late(), 1U);
  EXPECT_TRUE(space().look().empty());
}

// SEM 12, 14: least of all a request from before a takeover
TEST_P(Ambiguity, ADelayedRequestOfAnOlderInstanceIsRefused) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client old(bad, "app", 0);
  bad->script(Call::try_acquire, Fault::delay);
  expect_lost(old.ask({write("a")}));
  Client young = client("app");
  const std::int64_t epoch = young.take({write("@app:app")}).stamp.value;
  ASSERT_TRUE(young.backend().reclaim("app", epoch, soon()));
  ASSERT_EQ(bad->deliver_late(), 1U);
  EXPECT_EQ(space().look().size(), 1U) << "but the hold on the application id";
}

// SEM 14: the network delivers a request twice: there must be no second hold, because nobody would
// ever release it. Exclusive names: the second request finds the first in its way, or finds itself.
TEST_P(Ambiguity, ADuplicatedRequestMakesNoSecondHold) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::duplicate);
  const Token token = Token::random();
  const Result<AcquireOutcome> outcome = c.ask({write("a"), read("b")}, {.token = token});
  ASSERT_TRUE(outcome) << test::describe(outcome);
  ASSERT_EQ(space().look().size(), 1U);
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    EXPECT_EQ(grant->stamp, found->stamp);
  }
}

// SEM 14: not even if permits leave room for it
TEST_P(Ambiguity, ADuplicatedRequestTakesNoSecondPermit) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client admin = client("admin");
  admin.set_permits("a", Mode::write, 3);
  admin.set_permits("b", Mode::read, 3);
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  bad->script(Call::try_acquire, Fault::duplicate);
  const Token token = Token::random();
  const Result<AcquireOutcome> outcome = c.ask({write("a"), read("b")}, {.token = token});
  ASSERT_TRUE(outcome) << test::describe(outcome);
  EXPECT_EQ(space().look().size(), 1U) << "one attempt, two holds";
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    EXPECT_EQ(grant->stamp, found->stamp);
  }
}

// SEM 9, 14: a retry after a lost reply finds the hold gone
TEST_P(Ambiguity, ARetriedReleaseFindsTheHoldGone) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  const Grant grant = c.take({write("a")});
  bad->script(Call::release, Fault::lose_reply);
  const Result<bool> first = bad->release(grant.stamp, "app", soon());
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::indeterminate);
  EXPECT_FALSE(c.release(grant.stamp)) << "the core knows that this one was ours";
  EXPECT_TRUE(space().look().empty());
}

// SEM 9: a release that comes late does not hit the next holder
TEST_P(Ambiguity, ADelayedReleaseDoesNotHitTheNextHolder) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  const Grant old = c.take({write("a")});
  bad->script(Call::release, Fault::delay);
  ASSERT_FALSE(bad->release(old.stamp, "app", soon()));
  ASSERT_TRUE(c.release(old.stamp)) << "the retry was faster";
  const Grant next = c.take({write("a")});
  ASSERT_EQ(bad->deliver_late(), 1U);
  EXPECT_TRUE(c.is_live(next.stamp));
}

// SEM 10: a renewal that comes after the expiry brings nothing back
TEST_P(Ambiguity, ADelayedRenewalBringsNothingBack) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  const Grant grant = c.take({write("a")}, {.lease = 50ms});
  bad->script(Call::renew, Fault::delay);
  const RenewRequest request{grant.stamp, 1min};
  const Result<RenewReply> reply = bad->renew(c.owner(), {&request, 1}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::indeterminate);
  ASSERT_TRUE(expired(c, {grant}));
  ASSERT_EQ(bad->deliver_late(), 1U);
  EXPECT_FALSE(c.is_live(grant.stamp));
  EXPECT_TRUE(c.try_take({write("a")}));
}

// SEM 10, 14: a renewal whose reply was lost was done, and may be repeated
TEST_P(Ambiguity, ALostRenewalMayBeRepeated) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  Client c(bad);
  const Grant grant = c.take({write("a")}, {.lease = 5s});
  const TimePoint first_end = BootClock::now() + grant.lease;  // or a little earlier
  linger(300ms);
  bad->script(Call::renew, Fault::lose_reply);
  const RenewRequest request{grant.stamp, 1min};
  ASSERT_FALSE(bad->renew(c.owner(), {&request, 1}, soon()));
  // If a renewal restores the lease of the grant, the hold ends later than without it.
  EXPECT_TRUE(eventually([&] {
    const TimePoint asked = BootClock::now();
    const Duration remaining = c.holds().at(0).remaining.value();
    return traits().session_leases ? asked + remaining > first_end : remaining > 40s;
  }));
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
}

// SEM 7: every client sees a change of the configuration whose reply was lost
TEST_P(Ambiguity, ALostChangeIsInForce) {
  const std::shared_ptr<FaultyBackend> bad = faulty();
  bad->script(Call::change_config, Fault::lose_reply);
  ASSERT_FALSE(bad->change_config(SetPermits{"a", Mode::read, max_permits}, soon()));
  Client c = client();
  c.take({read("a")});
  EXPECT_TRUE(c.take({read("a")}).stamp);
}

// SEM 4, 14: exclusion, and an end for every ghost, with many random faults. A client leaves a hold
// that it can't resolve to its lease.
TEST_P(Ambiguity, FaultsNeverBreakExclusion) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  struct Interval {
    TimePoint begin, end;  // certainly held and valid from begin to end
    Stamp stamp;
  };
  std::mutex mutex;
  std::vector<Interval> held;
  std::atomic<std::size_t> faults = 0;
  Progress progress;
  run_threads(3, [&](std::size_t i) {
    const auto bad = std::make_shared<FaultyBackend>(open(), seed + i);
    Client c(bad, "app" + std::to_string(i));
    const test::FaultRates rates{
        .fail_before = 0.05, .lose_reply = 0.08, .delay = 0.05, .duplicate = 0.08};
    for (const Call call : {Call::try_acquire, Call::release, Call::renew, Call::resolve}) {
      bad->set_rates(call, rates);
    }
    bad->deliver_by_itself(true);
    std::size_t counted = 0;
    const auto count_faults = [&] {
      const std::size_t now = bad->injected(Fault::lose_reply) + bad->injected(Fault::delay) +
                              bad->injected(Fault::duplicate);
      faults += now - std::exchange(counted, now);
    };
    const TimePoint first = BootClock::now();
    const auto enough = [&] {
      const std::lock_guard lock(mutex);
      return held.size() >= 30 && faults >= 15;
    };
    while (BootClock::now() < first + 1500ms || (!enough() && !progress.stuck())) {
      const Token token = Token::random();
      const TimePoint asked = BootClock::now();
      const Duration lease = 300ms;
      const Wanted wanted =
          i % 2 == 0 ? Wanted{write("a"), write("b")} : Wanted{write("b"), write("c")};
      const Result<AcquireOutcome> outcome = c.ask(wanted, {.lease = lease, .token = token});
      count_faults();
      Stamp stamp;
      if (outcome) {
        if (const Grant* grant = std::get_if<Grant>(&*outcome)) stamp = grant->stamp;
      } else if (outcome.error().code == Errc::indeterminate) {
        const Result<std::optional<Grant>> found = bad->resolve(token, soon());
        if (found && *found) stamp = (*found)->stamp;
      }
      if (!stamp) {
        pause_after_try(asked);
        continue;
      }
      const TimePoint valid_until = asked + lease - 10ms;  // with a margin, as in the core
      const TimePoint begin = BootClock::now();
      std::this_thread::yield();
      const TimePoint end_of_use = std::min(valid_until, BootClock::now());
      if (begin < end_of_use) {
        const std::lock_guard lock(mutex);
        held.push_back({begin, end_of_use, stamp});
        progress.step();
      }
      (void)bad->release(stamp, c.owner().app, soon());
    }
    count_faults();
    bad->deliver_late();
  });
  EXPECT_GE(held.size(), 30U) << "hardly any progress";
  // All sets contain "b": no two intervals may overlap, and stamps follow time.
  std::sort(held.begin(), held.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < held.size(); ++i) {
    EXPECT_LE(held[i - 1].end, held[i].begin) << "two holders at once";
    EXPECT_LT(held[i - 1].stamp, held[i].stamp) << "stamps against the order of the holders";
  }
  EXPECT_GE(faults, 15U) << "hardly any faults";
  Client c = client();
  EXPECT_TRUE(eventually([&] { return c.holds().empty(); })) << "a ghost that does not end";
}

LOCKSET_CONFORMANCE_SUITE(Ambiguity);

}  // namespace
}  // namespace lockset::conformance
