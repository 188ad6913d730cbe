// SEM 1: spaces are independent; clients of one space share all of it.
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Spaces : public Conformance {};

// SEM 1
TEST_P(Spaces, ShareNoNames) {
  const std::unique_ptr<Space> second = harness().new_space();
  Client here = client();
  Client there(second->open().value());
  here.take({write("a")});
  EXPECT_TRUE(there.take({write("a")}).stamp);
  EXPECT_EQ(here.holds().size(), 1U);
  EXPECT_EQ(there.holds().size(), 1U);
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_EQ(second->look().size(), 1U);
}

// SEM 1: nor configuration
TEST_P(Spaces, ShareNoConfiguration) {
  const std::unique_ptr<Space> second = harness().new_space();
  Client here = client();
  Client there(second->open().value());
  const SpaceConfig before = there.config();
  here.set_permits("a", Mode::read, max_permits);
  here.change(SetMaxLease{20s});
  there.reload();
  EXPECT_EQ(there.config(), before);
}

// SEM 1: a stamp of one space does not release, renew or break in the other
TEST_P(Spaces, ShareNoStamps) {
  const std::unique_ptr<Space> second = harness().new_space();
  Client here = client();
  Client there(second->open().value());
  const Token token = Token::random();
  const Grant grant = here.take({write("a")}, {.token = token});
  EXPECT_FALSE(there.release(grant.stamp));
  EXPECT_FALSE(there.break_hold(grant.stamp));
  EXPECT_FALSE(there.renew(grant.stamp, 1min));
  EXPECT_FALSE(there.resolve(token));
  EXPECT_TRUE(here.is_live(grant.stamp));
}

// SEM 1: all clients of a space see the same state
TEST_P(Spaces, ClientsOfOneSpaceShareIt) {
  Client one(open());
  Client two(open());
  const Grant grant = one.take({write("a")});
  two.meet_busy({write("a")});
  EXPECT_TRUE(two.is_live(grant.stamp));
  EXPECT_TRUE(two.release(grant.stamp));
}

// Contract of ~Backend: "Ends no hold"
TEST_P(Spaces, AClientsEndEndsNoHold) {
  Stamp stamp;
  {
    Client gone(open());
    stamp = gone.take({write("a")}).stamp;
  }
  if (skip_unless(traits().holds_outlive_process || !traits().shared_between_processes,
                  "holds that outlive their client")) {
    return;
  }
  Client c = client();
  EXPECT_TRUE(c.is_live(stamp));
  EXPECT_TRUE(c.release(stamp));
}

// SEM 1, 6: the configuration belongs to the store, not to the client
TEST_P(Spaces, TheConfigurationOutlivesItsClient) {
  {
    Client gone(open());
    gone.set_permits("a", Mode::read, max_permits);
  }
  EXPECT_EQ(client().config().permits_of("a"), (Permits{max_permits, 1}));
}

// Traits are constant, and the same for all clients
TEST_P(Spaces, TraitsAreTheSameForAllClients) {
  const Traits one = open()->traits();
  const Traits two = open()->traits();
  EXPECT_EQ(one.push_wakeup, two.push_wakeup);
  EXPECT_EQ(one.queued_wakeup, two.queued_wakeup);
  EXPECT_EQ(one.bounded_overtaking, two.bounded_overtaking);
  EXPECT_EQ(one.permanent_leases, two.permanent_leases);
  EXPECT_EQ(one.floors, two.floors);
  EXPECT_EQ(one.shared_between_processes, !space().url().empty());
  EXPECT_GE(one.renew_chunk, 1U);
}

LOCKSET_CONFORMANCE_SUITE(Spaces);

}  // namespace
}  // namespace lockset::conformance
