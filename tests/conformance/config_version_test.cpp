// SEM 6 (permits are kept in the store) and SEM 7 (the version of the configuration).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class ConfigVersion : public Conformance {
 protected:
  // Stores that can't take part in a migration have no phase to set.
  bool applies(const ConfigChange& change) {
    return traits().can_migrate || !std::holds_alternative<SetMigrationPhase>(change);
  }
};

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
  if (skip_unless(traits().counted_permits, "counted permits")) return;
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
  if (skip_unless(traits().counted_permits, "counted permits")) return;
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
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("*", Mode::read, 2);
  c.take({read("a")});
  c.take({read("a")});
  c.meet_busy({read("a")});
}

// SEM 7: every change raises the version, even a change to the same value: a migration uses that to
// refuse requests that are under way. All clients see the same version.
TEST_P(ConfigVersion, EveryChangeRaisesTheVersion) {
  Client c = client();
  std::int64_t before = c.config().version;
  const ConfigChange changes[] = {SetPermits{"a", Mode::read, max_permits},
                                  SetPermits{"a", Mode::read, max_permits},
                                  SetPermits{"a", Mode::read, {}},
                                  SetMaxLease{20s},
                                  SetMigrationPhase{3},
                                  SetMigrationPhase{3},
                                  RaiseStampBase{{5}},
                                  RaiseStampBase{{5}},
                                  RaiseStampBase{{4}}};
  for (const ConfigChange& change : changes) {
    if (!applies(change)) continue;
    c.change(change);
    EXPECT_GT(c.config().version, before) << "change " << change.index();
    before = c.config().version;
    Client other(open());
    EXPECT_EQ(other.config(), c.config());
  }
  EXPECT_EQ(c.config().max_lease, 20s);
  EXPECT_EQ(c.config().migration_phase, traits().can_migrate ? 3 : 0);
  const std::int64_t unit = harness().harness_traits().stamps_per_us;
  EXPECT_EQ(c.config().stamp_base.value, (5 + unit - 1) / unit * unit);
}

// SEM 7: versions follow the clock, reclaim's too. Counted versions would be used again after a
// backup was restored, and a client that kept the configuration of such a version would decide by
// it.
TEST_P(ConfigVersion, VersionsFollowTheClock) {
  const auto wall_us = [] {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
  };
  constexpr std::int64_t grain_us =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_grain).count();
  Client c = client();
  std::int64_t asked = 0;
  // A client that knows the server's clock from an earlier answer is behind it by at most the time
  // that the answer took.
  std::int64_t behind = 0;
  const auto expect_of_now = [&](const char* what) {
    EXPECT_GE(c.config().version, asked - grain_us - behind) << what;
    const int stores = harness().harness_traits().stores;
    const std::int64_t coarse_us =
        std::chrono::duration_cast<std::chrono::microseconds>(harness().harness_traits().coarse_by)
            .count();
    EXPECT_LE(c.config().version, stores * (wall_us() + grain_us + coarse_us)) << what;
  };
  const std::pair<const char*, ConfigChange> changes[] = {
      {"permits", SetPermits{"a", Mode::read, max_permits}},
      {"longest lease", SetMaxLease{20s}},
      {"migration phase", SetMigrationPhase{3}},
      {"stamp base", RaiseStampBase{{5}}}};
  for (const auto& [what, change] : changes) {
    if (!applies(change)) continue;
    asked = wall_us();
    c.change(change);
    expect_of_now(what);
    behind = std::max(behind, wall_us() - asked);
  }
  if (!traits().can_reclaim) return;
  asked = wall_us();
  const Grant id = c.take({write("@app:app")}, {.lease = 10s});
  behind = std::max(behind, wall_us() - asked);
  asked = wall_us();
  ASSERT_TRUE(backend()->reclaim("app", id.stamp.value, soon()));
  c.reload();
  expect_of_now("reclaim");
}

// SEM 7: a change of anything that an acquire depends on makes older requests stale
TEST_P(ConfigVersion, ARequestFromAnOldVersionIsStale) {
  const ConfigChange changes[] = {SetPermits{"other", Mode::read, max_permits}, SetMaxLease{20s},
                                  SetMigrationPhase{1}, RaiseStampBase{{1}}};
  for (const ConfigChange& change : changes) {
    if (!applies(change)) continue;
    SCOPED_TRACE(change.index());
    Client old = client();
    Client admin(open());
    admin.change(change);
    const Result<AcquireOutcome> outcome = old.ask_once({write("a")});
    ASSERT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
    old.reload();
    EXPECT_EQ(old.config(), admin.config());
    EXPECT_TRUE(space().look().empty()) << "stale leaves no trace";
  }
}

// SEM 7: versions are compared for equality; a version that never existed is stale as well
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

// SEM 7: a change that names the version it was decided from is applied at that version
TEST_P(ConfigVersion, AChangeAtThePresentVersionIsMade) {
  if (skip_unless(traits().can_migrate, "can_migrate")) return;
  Client c = client();
  for (const std::int64_t phase : {17, 18, 18}) {
    const std::int64_t before = c.config().version;
    c.change(SetMigrationPhase{phase, before});
    EXPECT_EQ(c.config().migration_phase, phase);
    EXPECT_GT(c.config().version, before);
    Client other(open());
    EXPECT_EQ(other.config(), c.config());
  }
}

// SEM 7: at another version nothing is changed, and the answer is the configuration as it is. So a
// change that arrives late undoes nothing.
TEST_P(ConfigVersion, AChangeAtAnotherVersionChangesNothing) {
  if (skip_unless(traits().can_migrate, "can_migrate")) return;
  Client admin = client();
  const std::int64_t first = admin.config().version;
  admin.set_permits("a", Mode::read, 7);
  admin.change(SetMaxLease{20s});
  admin.change(RaiseStampBase{{5}});
  admin.change(SetMigrationPhase{18});
  const SpaceConfig there = admin.config();
  for (const std::int64_t version :
       {first, there.version - 1, there.version + 1, std::int64_t{0}, std::int64_t{-1}}) {
    SCOPED_TRACE(version - there.version);
    Client late(open());
    late.change(SetMigrationPhase{17, version});
    EXPECT_EQ(late.config(), there);
    EXPECT_EQ(client().config(), there) << "and nobody else sees another one";
  }
  const Result<AcquireOutcome> outcome = admin.ask_once({write("b")}, {.lease = 10s});
  EXPECT_TRUE(outcome && std::holds_alternative<Grant>(*outcome))
      << "a change that was refused makes no request stale: " << test::describe(outcome);
}

// SEM 7: the same request delivered again does not undo later changes
TEST_P(ConfigVersion, AChangeDeliveredAgainChangesNothing) {
  if (skip_unless(traits().can_migrate, "can_migrate")) return;
  Client c = client();
  const SetMigrationPhase step{17, c.config().version};
  c.change(step);
  const SpaceConfig once = c.config();
  c.change(step);
  EXPECT_EQ(c.config(), once);
  c.change(SetMigrationPhase{18, once.version});
  const SpaceConfig next = c.config();
  c.change(step);
  EXPECT_EQ(c.config(), next);
  EXPECT_EQ(client().config(), next);
}

// SEM 7: of several changes decided from one version exactly one is applied, and all are answered
// with its result
TEST_P(ConfigVersion, OfChangesFromOneVersionExactlyOneIsMade) {
  if (skip_unless(traits().can_migrate, "can_migrate")) return;
  constexpr std::size_t threads = 4;
  std::vector<std::shared_ptr<Backend>> backends;
  for (std::size_t i = 0; i < threads; ++i) backends.push_back(open());
  SpaceConfig before = client().config();
  for (int round = 1; round <= 25; ++round) {
    std::vector<SpaceConfig> answers(threads);
    run_threads(threads, [&](std::size_t i) {
      const SetMigrationPhase change{round * 10 + static_cast<std::int64_t>(i), before.version};
      answers[i] = backends[i]->change_config(change, soon()).value();
    });
    const SpaceConfig after = client().config();
    EXPECT_EQ(after.migration_phase / 10, round) << "somebody's was made";
    EXPECT_GT(after.version, before.version);
    for (const SpaceConfig& answer : answers) EXPECT_EQ(answer, after) << "round " << round;
    before = after;
  }
}

// SEM 7: no change gets in between the comparison of the version and the change
TEST_P(ConfigVersion, AChangeOfMeanwhileIsNotPassedOver) {
  if (skip_unless(traits().can_migrate, "can_migrate")) return;
  const std::shared_ptr<Backend> mine = open();
  const std::shared_ptr<Backend> others = open();
  SpaceConfig before = client().config();
  for (int round = 1; round <= 50; ++round) {
    SpaceConfig depends;
    SpaceConfig always;
    run_threads(2, [&](std::size_t i) {
      // Either change comes first, in turn.
      if (i == static_cast<std::size_t>(round % 2)) {
        const SetMigrationPhase change{round, before.version};
        depends = mine->change_config(change, soon()).value();
      } else {
        always = others->change_config(SetMaxLease{1s * round}, soon()).value();
      }
    });
    if (depends.migration_phase == round) {
      EXPECT_EQ(depends.max_lease, before.max_lease) << "made from what was there no more";
      EXPECT_EQ(always.migration_phase, round);
      EXPECT_LT(depends.version, always.version);
    } else {
      EXPECT_EQ(depends, always);
    }
    before = always;
    EXPECT_EQ(client().config(), before);
  }
}

// SEM 7: stale has priority over busy, so that nobody waits by an old rule
TEST_P(ConfigVersion, StaleComesBeforeBusy) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
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
  if (skip_unless(traits().counted_permits, "counted permits")) return;
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

// SEM 7 under load: no acquire that was called after a permit was lowered is granted by the old
// value. The admin lowers, then counts; from then on grants must keep to the low value.
TEST_P(ConfigVersion, PermitsChangeUnderLoad) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  constexpr std::uint32_t high = 4;
  const int rounds = this->rounds(25, 12);
  std::atomic<bool> done = false;
  std::atomic<int> inside = 0;
  std::atomic<std::uint64_t> phase = 0;  // odd: lowered to 1
  std::atomic<std::uint64_t> grants = 0;
  const std::shared_ptr<Backend> admin_backend = open();
  run_threads(4, [&](std::size_t i) {
    if (i == 0) {
      Client admin(admin_backend, "admin");
      for (int round = 0; round < rounds; ++round) {
        admin.set_permits("a", Mode::write, high);
        const std::uint64_t before = grants;
        if (!eventually([&] { return grants > before + 5; })) ADD_FAILURE() << "no grants";
        admin.set_permits("a", Mode::write, 1);
        // Holds from before the change may still be there, but no later ones next to them.
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
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take({write("a")});
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      const int now_inside = ++inside;
      if (before % 2 == 1 && phase == before && now_inside > 1) {
        ADD_FAILURE() << now_inside << " writers under a permit of 1";
      }
      ++grants;
      --inside;
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
    }
  });
  EXPECT_GE(grants, 10U * static_cast<unsigned>(rounds));
}

// SEM 7: concurrent changes are all kept, each with its own version
TEST_P(ConfigVersion, ConcurrentChangesAreAllKept) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t changes = 25;
  const std::int64_t before = client().config().version;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    std::int64_t last = 0;
    for (std::size_t k = 0; k < changes; ++k) {
      c.set_permits("n" + std::to_string(i) + "_" + std::to_string(k), Mode::read, max_permits);
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
