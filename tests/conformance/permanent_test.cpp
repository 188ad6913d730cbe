// SEM 11: lease = none, made by renewing a hold with a finite lease.
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Permanent : public Conformance {
 protected:
  // A hold of "a" whose lease would be over by now, had it stayed finite.
  Stamp outlived(Client& c) {
    for (Duration lease = 100ms;; lease *= 2) {
      const TimePoint asked = BootClock::now();
      const Grant grant = c.take({write("a"), read("b")}, {.lease = lease});
      const TimePoint end = BootClock::now() + lease + 100ms;
      const bool made = c.make_permanent(grant.stamp).has_value();
      if (!made && BootClock::now() >= asked + lease)
        continue;  // too late, because the machine is
                   // busy
      EXPECT_TRUE(made);
      EXPECT_TRUE(eventually([&] { return BootClock::now() > end; }));
      return grant.stamp;
    }
  }
};

// SEM 11
TEST_P(Permanent, StaysUntilReleased) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  const Stamp stamp = outlived(c);
  EXPECT_TRUE(c.is_live(stamp));
  c.meet_busy({write("a")});
  EXPECT_EQ(backend()->sweep(soon()).value(), 0U);
  EXPECT_TRUE(c.release(stamp));
  EXPECT_TRUE(c.take({write("a")}).stamp);
}

// SEM 11, contract: the renewal, inspection and resolve all show it
TEST_P(Permanent, IsShownAsWithoutEnd) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  const Token token = Token::random();
  const Grant grant = c.take({write("a")}, {.lease = 10s, .token = token});
  const std::optional<Renewal> renewal = c.make_permanent(grant.stamp);
  ASSERT_TRUE(renewal);
  EXPECT_EQ(renewal->lease, Duration::max());
  EXPECT_FALSE(c.holds().at(0).remaining);
  const std::optional<Grant> resolved = c.resolve(token);
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->lease, Duration::max());
}

// SEM 11: a waiter behind it is not told to look again when it "ends"
TEST_P(Permanent, GivesWaitersNoTimeToLookAgain) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  (void)outlived(c);
  EXPECT_FALSE(c.meet_busy({write("a")}).retry_after);
}

// SEM 10, 11: making a hold permanent is a renewal: harmless twice, never after expiry, never by
// another application
TEST_P(Permanent, FollowsTheRulesOfRenewal) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 10s});
  EXPECT_FALSE(client("other").make_permanent(grant.stamp));
  EXPECT_TRUE(c.holds().at(0).remaining);
  EXPECT_TRUE(c.make_permanent(grant.stamp));
  EXPECT_TRUE(c.make_permanent(grant.stamp));

  const Grant brief = c.take({write("b")}, {.lease = 20ms});
  ASSERT_TRUE(expired(c, {brief}));
  EXPECT_FALSE(c.make_permanent(brief.stamp));
  EXPECT_FALSE(c.is_live(brief.stamp));
}

// SEM 10, 11: an earlier renewal that arrives late does not give it an end again
TEST_P(Permanent, AFiniteRenewalGivesItNoEnd) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 10s});
  ASSERT_TRUE(c.make_permanent(grant.stamp));
  const std::optional<Renewal> late = c.renew(grant.stamp, 10s);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->lease, Duration::max());
  EXPECT_FALSE(c.holds().at(0).remaining);
}

// SEM 11: "a lost reply leaves no eternal ghost": until the confirmation the lease is finite
TEST_P(Permanent, UntilItIsMadePermanentItsLeaseIsFinite) {
  Client c = client();
  c.take({write("a")}, {.lease = 50ms});
  EXPECT_TRUE(eventually([&] { return c.try_take({write("a")}).has_value(); }));
}

// SEM 11: "held until released, broken or reclaimed"
TEST_P(Permanent, CanBeBroken) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client c = client();
  EXPECT_TRUE(c.break_hold(outlived(c)));
  EXPECT_TRUE(space().look().empty());
}

// SEM 11: it survives its client
TEST_P(Permanent, OutlivesItsClient) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Stamp stamp;
  {
    Client gone(open());
    stamp = gone.take({write("a")}, {.lease = 10s}).stamp;
    ASSERT_TRUE(gone.make_permanent(stamp));
  }
  EXPECT_TRUE(client().is_live(stamp));
}

// SEM 11: a store that can't keep it refuses, and does not grant less
TEST_P(Permanent, IsRefusedWithoutTheTrait) {
  if (skip_unless(!traits().permanent_leases, "a refusal of permanent leases")) return;
  Client c = client();
  const Grant grant = c.take({write("a")}, {.lease = 10s});
  const RenewRequest request{grant.stamp, 10s, true};
  const Result<RenewReply> reply = backend()->renew(c.owner(), {&request, 1}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unsupported);
}

LOCKSET_CONFORMANCE_SUITE(Permanent);

}  // namespace
}  // namespace lockset::conformance
