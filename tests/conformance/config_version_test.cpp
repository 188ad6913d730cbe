// SEM 6 (permits live in the store) and SEM 7 (the configuration's one version).
#include <atomic>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class ConfigVersion : public Conformance {};

// SEM 6
TEST_P(ConfigVersion, ANewSpaceHasTheDefaults) {
  const SpaceConfig config = client().config();
  EXPECT_TRUE(config.permits.empty());
  EXPECT_TRUE(config.epochs.empty());
  EXPECT_EQ(config.max_lease, 10min);
  EXPECT_EQ(config.migration_phase, 0);
  EXPECT_EQ(config.stamp_base, Stamp{});
  EXPECT_EQ(config.permits_of("any"), (Permits{1, 1}));
}

// SEM 6: every application sees the same value
TEST_P(ConfigVersion, PermitsAreTheSameForAll) {
  Client c = client();
  c.set_permits("a", Mode::read, 7);
  c.set_permits("a", Mode::write, 3);
  c.set_permits("*", Mode::read, 1000);
  Client other(open());
  EXPECT_EQ(other.config(), c.config());
  EXPECT_EQ(other.config().permits_of("a"), (Permits{7, 3}));
  EXPECT_EQ(other.config().permits_of("b"), (Permits{1000, 1}));
}

// SEM 6: unset goes back to the default, one mode at a time
TEST_P(ConfigVersion, UnsetGoesBackToTheDefault) {
  Client c = client();
  c.set_permits("a", Mode::read, 7);
  c.set_permits("a", Mode::write, 3);
  c.set_permits("*", Mode::read, 5);
  c.set_permits("a", Mode::read, {});
  c.reload();
  EXPECT_EQ(c.config().permits_of("a"), (Permits{5, 3}));
  c.set_permits("a", Mode::write, {});
  c.set_permits("*", Mode::read, {});
  c.reload();
  EXPECT_TRUE(c.config().permits.empty());
}

// SEM 6: `*` changes the default
TEST_P(ConfigVersion, TheStarChangesTheDefault) {
  Client c = client();
  c.set_permits("*", Mode::read, 2);
  c.take({read("a")});
  c.take({read("a")});
  c.meet_busy({read("a")});
}

// SEM 7: the version grows with every change, and is the same for all
TEST_P(ConfigVersion, EveryChangeRaisesTheVersion) {
  Client c = client();
  std::int64_t before = c.config().version;
  const ConfigChange changes[] = {SetPermits{"a", Mode::read, 2},
                                  SetPermits{"a", Mode::read, 2},
                                  SetPermits{"a", Mode::read, {}},
                                  SetMaxLease{20s},
                                  SetMigrationPhase{3},
                                  RaiseStampBase{{5}}};
  for (const ConfigChange& change : changes) {
    c.change(change);
    EXPECT_GT(c.config().version, before) << "change " << change.index();
    before = c.config().version;
    Client other(open());
    EXPECT_EQ(other.config(), c.config());
  }
  EXPECT_EQ(c.config().max_lease, 20s);
  EXPECT_EQ(c.config().migration_phase, 3);
  EXPECT_EQ(c.config().stamp_base, Stamp{5});
}

// SEM 7: a change of anything that an acquire depends on makes older requests stale
TEST_P(ConfigVersion, ARequestFromAnOldVersionIsStale) {
  const ConfigChange changes[] = {SetPermits{"other", Mode::read, 2}, SetMaxLease{20s},
                                  SetMigrationPhase{1}, RaiseStampBase{{1}}};
  for (const ConfigChange& change : changes) {
    SCOPED_TRACE(change.index());
    Client old = client();
    Client admin(open());
    admin.change(change);
    const Result<AcquireOutcome> outcome = old.ask_once({write("a")});
    ASSERT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
    EXPECT_EQ(std::get<Stale>(*outcome).config, admin.config());
    EXPECT_TRUE(space().look().empty()) << "stale leaves no trace";
  }
}

// SEM 7: compared for equality; a version from nowhere is stale as well
TEST_P(ConfigVersion, AVersionThatNeverWasIsStale) {
  Client c = client();
  const LockSet set = make_set({write("a")});
  const std::uint32_t permits[] = {1};
  const Owner owner{"app", "i", 0, ""};
  AcquireRequest request;
  request.set = &set;
  request.permits = permits;
  request.config_version = c.config().version + 1;
  request.token = Token::random();
  request.owner = &owner;
  request.lease = 10s;
  request.by = soon();
  const Result<AcquireOutcome> outcome = backend()->try_acquire(request);
  EXPECT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
}

// SEM 7: stale comes before busy, so that nobody waits by an old rule
TEST_P(ConfigVersion, StaleComesBeforeBusy) {
  Client old = client();
  Client admin(open());
  admin.take({write("a")});
  admin.set_permits("a", Mode::write, 2);
  const Result<AcquireOutcome> outcome = old.ask_once({write("a")});
  EXPECT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
  EXPECT_TRUE(old.take({write("a")}).stamp) << "decided again, it is granted";
}

// SEM 7: an acquire called after `permits set` returned obeys it
TEST_P(ConfigVersion, TheNextAcquireObeysTheNewPermits) {
  Client c = client();
  Client admin(open());
  for (int round = 0; round < 20; ++round) {
    admin.set_permits("a", Mode::write, 2);
    const Grant one = c.take({write("a")});
    const Grant two = c.take({write("a")});
    ASSERT_TRUE(c.release(two.stamp));
    admin.set_permits("a", Mode::write, 1);
    c.meet_busy({write("a")});
    ASSERT_TRUE(c.release(one.stamp));
  }
}

// SEM 7 under load: nobody is ever granted by a permit that had been lowered before
// the acquire was called. The admin lowers, then counts; from there on grants must
// keep to the low value.
TEST_P(ConfigVersion, PermitsChangeUnderLoad) {
  constexpr std::uint32_t high = 4;
  std::atomic<bool> done = false;
  std::atomic<int> inside = 0;
  std::atomic<std::uint64_t> phase = 0;  // odd: lowered to 1
  std::atomic<std::uint64_t> grants = 0;
  const std::shared_ptr<Backend> admin_backend = open();
  run_threads(4, [&](std::size_t i) {
    if (i == 0) {
      Client admin(admin_backend, "admin");
      for (int round = 0; round < 25; ++round) {
        admin.set_permits("a", Mode::write, high);
        const std::uint64_t before = grants;
        if (!eventually([&] { return grants > before + 5; })) ADD_FAILURE() << "no grants";
        admin.set_permits("a", Mode::write, 1);
        // Holds from before the change may still be there, later ones not beside them.
        if (!eventually([&] { return admin.holds().size() <= 1; })) ADD_FAILURE() << "no end";
        ++phase;
        const std::uint64_t low = grants;
        if (!eventually([&] { return grants > low + 5; })) ADD_FAILURE() << "no grants";
        ++phase;
      }
      done = true;
      return;
    }
    Client c(open(), "app" + std::to_string(i));
    while (!done) {
      const std::uint64_t before = phase;
      const std::optional<Grant> grant = c.try_take({write("a")});
      if (!grant) continue;
      const int now_inside = ++inside;
      if (before % 2 == 1 && phase == before && now_inside > 1) {
        ADD_FAILURE() << now_inside << " writers under a permit of 1";
      }
      ++grants;
      --inside;
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
    }
  });
  EXPECT_GE(grants, 250U);
}

// SEM 7: changes by several at once are all there, each with a version of its own
TEST_P(ConfigVersion, ConcurrentChangesAreAllKept) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t changes = 25;
  const std::int64_t before = client().config().version;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    std::int64_t last = 0;
    for (std::size_t k = 0; k < changes; ++k) {
      c.set_permits("n" + std::to_string(i) + "_" + std::to_string(k), Mode::read, 5);
      EXPECT_GT(c.config().version, last);
      last = c.config().version;
    }
  });
  const SpaceConfig after = client().config();
  EXPECT_EQ(after.permits.size(), threads * changes);
  EXPECT_GE(after.version, before + static_cast<std::int64_t>(threads * changes));
}

LOCKSET_CONFORMANCE_SUITE(ConfigVersion);

}  // namespace
}  // namespace lockset::conformance
