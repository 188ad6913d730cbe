// SEM 10, 11, 20: validity on the holder's side: renewals, losses, bounds.
#include <algorithm>
#include <atomic>
#include <thread>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/suite.h"
#include "tests/support/event_counts.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

// SEM 10: a tenth of the lease, 50 ms to 2 s
Duration margin_of(Duration lease) { return std::clamp<Duration>(lease / 10, 50ms, 2s); }

class Validity : public Conformance {
 protected:
  // A manager over a backend that fails on command.
  struct Patient {
    std::shared_ptr<test::FaultyBackend> faulty;
    Locks locks;
  };
  Patient patient(Options options) {
    class Shared final : public ForwardingBackend {
     public:
      using ForwardingBackend::ForwardingBackend;
    };
    options.app = "app";
    auto faulty = std::make_shared<test::FaultyBackend>(open(), test::test_seed());
    return {faulty, lockset::open(std::make_unique<Shared>(faulty), options).value()};
  }
};

// SEM 10: the moment the request was sent + effective lease - margin
TEST_P(Validity, EndsTheMarginBeforeTheLeaseCountedFromTheRequest) {
  Locks mine = locks();
  for (const Duration lease : {Duration(1s), Duration(5s), Duration(30s), Duration(60s)}) {
    SCOPED_TRACE(format_duration(lease));
    const TimePoint before = BootClock::now();
    const Hold hold = mine.acquire({write("a")}, {.lease = lease}).value();
    const TimePoint after = BootClock::now();
    EXPECT_LE(hold.lease(), lease);
    EXPECT_GE(hold.valid_until(), before + hold.lease() - margin_of(lease));
    EXPECT_LE(hold.valid_until(), after + hold.lease() - margin_of(lease));
    EXPECT_TRUE(hold.valid_for(lease / 2) || BootClock::now() - before > lease / 3);
    EXPECT_FALSE(hold.valid_for(lease));
  }
}

// SEM 10: renewals keep a hold for more than two leases
TEST_P(Validity, RenewalsKeepAHoldAlive) {
  Locks mine = locks({.app = "mine", .lease = 3s});
  Locks other = locks({.app = "other"});
  const Hold hold = mine.acquire({write("a"), read("b")}).value();
  const TimePoint until = BootClock::now() + 7s;
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(other.try_acquire({write("a")}).value());
    return !hold.valid() || BootClock::now() >= until || HasFailure();
  }));
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
}

// Every duration may be the longest one: acquiring, waiting and renewing still work
TEST_P(Validity, DurationsMayBeForever) {
  const auto events = std::make_shared<test::EventCounts>();
  const auto options = [&](std::string app) {
    return Options{.app = std::move(app),
                   .lease = 6s,
                   .io_timeout = forever,
                   .store_patience = forever,
                   .refresh_config = forever,
                   .observer = events};
  };
  Locks mine = locks(options("mine"));
  Locks other = locks(options("other"));
  Hold hold = mine.acquire({write("a")}, {.wait = forever}).value();
  ASSERT_TRUE(eventually([&] { return events->renewed > 0 || !hold.valid(); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(events->lost, 0);
  std::thread waiter([&] {
    const Result<Hold> next = other.acquire({write("a")}, {.wait = forever});
    EXPECT_TRUE(next) << next.error().message;
  });
  EXPECT_TRUE(eventually([&] { return events->busy > 0; }));
  EXPECT_TRUE(hold.release());
  waiter.join();
}

// SEM 10: all holds of a process together, even many
TEST_P(Validity, RenewalsKeepManyHoldsAlive) {
  Locks mine = locks({.lease = 6s});
  std::vector<Hold> holds;
  std::vector<TimePoint> first_ends;
  for (int i = 0; i < 200; ++i) {
    holds.push_back(mine.acquire({write("n" + std::to_string(i))}).value());
    first_ends.push_back(holds.back().valid_until());
  }
  const TimePoint until = first_ends.back();
  ASSERT_TRUE(eventually([&] { return BootClock::now() >= until; }));
  for (const Hold& hold : holds) ASSERT_TRUE(hold.valid());
  EXPECT_EQ(space().look().size(), holds.size());
}

// Renewing by hand
TEST_P(Validity, RenewByHandMovesTheEnd) {
  Locks mine = locks({.lease = 30s});
  Hold hold = mine.acquire({write("a")}).value();
  const TimePoint first = hold.valid_until();
  ASSERT_TRUE(hold.renew());
  EXPECT_GT(hold.valid_until(), first);
}

// SEM 10, 17: a broken hold is lost at the next renewal at the latest, and lost() fires
TEST_P(Validity, ABrokenHoldIsLostByTheNextRenewal) {
  Locks mine = locks({.app = "mine", .lease = 6s});
  Locks admin = locks({.app = "admin"});
  const Hold hold = mine.acquire({write("a")}).value();
  const Hold other = mine.acquire({write("b")}).value();
  std::atomic<bool> called = false;
  const std::stop_callback callback(hold.lost(), [&] { called = true; });
  ASSERT_TRUE(admin.break_hold(hold.stamp()));
  ASSERT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return called.load(); }));
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::gone) << "else later than the end of its validity";
  EXPECT_TRUE(other.valid()) << "only that one";
  EXPECT_FALSE(other.lost().stop_requested());
}

// SEM 9: releasing a lost hold
TEST_P(Validity, ReleasingALostHoldIsNotHeld) {
  Locks mine = locks({.app = "mine", .lease = 4s});
  Hold hold = mine.acquire({write("a")}).value();
  ASSERT_TRUE(client().break_hold(hold.stamp()));
  ASSERT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  const Grant next = client("next").take({write("a")});
  const Status released = hold.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Errc::not_held);
  EXPECT_TRUE(client().is_live(next.stamp));
}

// Renewing by hand shows the loss at once
TEST_P(Validity, RenewByHandFindsOutThatItIsGone) {
  Locks mine = locks({.lease = 30s});
  Hold hold = mine.acquire({write("a")}).value();
  ASSERT_TRUE(client().break_hold(hold.stamp()));
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::not_held);
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
}

// SEM 10: if no renewal succeeds, validity ends on time: not early, and before the store could give
// the set to another client
TEST_P(Validity, WithoutRenewalsItEndsOnTime) {
  Patient one = patient({.lease = 1s});
  const Stopwatch watch;
  const Hold hold = one.locks.acquire({write("a")}).value();
  one.faulty->set_rates(test::Call::renew, {.fail_before = 1});
  const TimePoint until = hold.valid_until();
  // Two answers in a row, so that the moment between them can be checked.
  TimePoint last_valid{};
  while (true) {
    const TimePoint now = BootClock::now();
    if (!hold.valid()) break;
    last_valid = now;
    ASSERT_LT(now, watch.began() + patience) << "valid for ever";
    std::this_thread::sleep_for(1ms);
  }
  const Stopwatch since_its_end;
  EXPECT_LT(last_valid, until);
  EXPECT_GE(BootClock::now(), until);
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_LT(since_its_end.elapsed(), 1s) << "told late";
  EXPECT_EQ(hold.lost_reason(), LostReason::expired);
  // SEM 20: only then can another client take it.
  Client other = client("other");
  ASSERT_TRUE(eventually([&] { return other.try_take({write("a")}).has_value(); }));
  EXPECT_GE(BootClock::now(), until);
  EXPECT_LT(watch.elapsed(), 1s + 2s + harness().harness_traits().coarse_by);
}

// SEM 10: a few lost replies are harmless
TEST_P(Validity, ItSurvivesSomeLostReplies) {
  Patient one = patient({.lease = 6s});
  const Hold hold = one.locks.acquire({write("a")}).value();
  const TimePoint first = hold.valid_until();
  one.faulty->script(test::Call::renew, test::Fault::lose_reply);
  one.faulty->script(test::Call::renew, test::Fault::none);
  one.faulty->script(test::Call::renew, test::Fault::fail_before);
  const auto failed = [&] { return one.faulty->injected(test::Fault::fail_before) >= 1; };
  EXPECT_TRUE(eventually([&] { return failed() || !hold.valid(); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_GE(one.faulty->injected(test::Fault::lose_reply), 1U);
  const TimePoint second = hold.valid_until();
  EXPECT_GT(second, first) << "the renewal between the two";
  EXPECT_TRUE(eventually([&] { return hold.valid_until() > second || !hold.valid(); }));
  EXPECT_TRUE(hold.valid());
}

// SEM 10: "even while the network hangs": a renewal that does not return delays neither valid() nor
// lost()
TEST_P(Validity, ItEndsOnTimeWhileARenewalHangs) {
  class Hanging final : public ForwardingBackend {
   public:
    Hanging(std::shared_ptr<Backend> inner, std::stop_token release)
        : ForwardingBackend(std::move(inner)), release_(std::move(release)) {}
    Result<RenewReply> renew(const Owner&, std::span<const RenewRequest>, TimePoint by) override {
      // Like a network call: returns by its deadline, which is later than the test's patience.
      eventually([&] { return release_.stop_requested(); }, by - BootClock::now());
      return Error{Errc::indeterminate, "it hung"};
    }

   private:
    std::stop_token release_;
  };
  std::stop_source release;
  Locks mine = lockset::open(std::make_unique<Hanging>(open(), release.get_token()),
                             {.app = "app", .lease = 1s, .io_timeout = 3 * patience})
                   .value();
  const Hold hold = mine.acquire({write("a")}).value();
  const TimePoint until = hold.valid_until();
  ASSERT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_GE(BootClock::now(), until);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::expired);
  release.request_stop();
}

// SEM 11
TEST_P(Validity, AHoldWithoutLeaseStaysValid) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}, {.lease = no_lease}).value();
  EXPECT_TRUE(eventually([&] { return hold.valid_until() == TimePoint::max(); }));
  EXPECT_EQ(hold.lease(), Duration::max());
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(mine.inspect().value().holds.at(0).remaining);
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(space().look().empty());
}

// SEM 11: refused if the store can't keep it
TEST_P(Validity, NoLeaseIsUnsupportedWithoutTheTrait) {
  if (skip_unless(!traits().permanent_leases, "a refusal of permanent leases")) return;
  Locks mine = locks();
  const Result<Hold> hold = mine.acquire({write("a")}, {.lease = no_lease});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::unsupported);
  EXPECT_TRUE(space().look().empty());
}

// SEM 11: the confirming renewal is lost: an error or a hold, never an eternal ghost
TEST_P(Validity, AnUnconfirmedPermanentHoldIsNoEternalGhost) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Patient one = patient({});
  one.faulty->script(test::Call::renew, test::Fault::fail_before);
  const Result<Hold> hold = one.locks.acquire({write("a")}, {.wait = 2s, .lease = no_lease});
  if (hold) {
    EXPECT_TRUE(hold->valid());
    return;
  }
  // Refused: then the store keeps no hold without an end.
  for (const HoldInfo& info : client().holds()) EXPECT_TRUE(info.remaining);
}

LOCKSET_CONFORMANCE_SUITE(Validity);

}  // namespace
}  // namespace lockset::conformance
