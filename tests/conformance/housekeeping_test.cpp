// SEM 19: tidying up never makes an identifier or a version appear again.
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Housekeeping : public Conformance {};

// Everything about a name is tidied away. A slow client's release, renewal and question, sent
// before that, must not match anything newer.
TEST_P(Housekeeping, ASlowClientsStepsMeetNobodyElse) {
  Client slow = client();
  const Token token = Token::random();
  const Grant old = slow.take({write("a")}, {.lease = 1ms, .token = token});
  ASSERT_TRUE(expired(slow, {old}));
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(backend()->sweep(soon()).value());
    return space().look().empty();
  }));

  Client next = client();
  const Grant grant = next.take({write("a")});
  EXPECT_GT(grant.stamp, old.stamp);
  EXPECT_FALSE(slow.release(old.stamp));
  EXPECT_FALSE(slow.break_hold(old.stamp));
  EXPECT_FALSE(slow.renew(old.stamp, 1min));
  EXPECT_FALSE(slow.resolve(token));
  EXPECT_TRUE(next.is_live(grant.stamp));
}

// Removing an entry from the configuration leaves no number that could be used again.
TEST_P(Housekeeping, TheVersionNeverComesBack) {
  Client c = client();
  std::int64_t last = c.config().version;
  for (int i = 0; i < 20; ++i) {
    c.set_permits("a", Mode::read, max_permits);
    EXPECT_GT(c.config().version, last);
    last = c.config().version;
    c.set_permits("a", Mode::read, {});
    EXPECT_GT(c.config().version, last);
    last = c.config().version;
    EXPECT_TRUE(c.config().permits.empty());
  }
  // A request made from any of those versions is stale, whatever the permits were.
  Client late = client();
  c.set_permits("b", Mode::read, max_permits);
  c.set_permits("b", Mode::read, {});
  const Result<AcquireOutcome> outcome = late.ask_once({write("a")});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
}

LOCKSET_CONFORMANCE_SUITE(Housekeeping);

}  // namespace
}  // namespace lockset::conformance
