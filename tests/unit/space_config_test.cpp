#include "lockset/space_config.h"

#include <gtest/gtest.h>

namespace lockset {
namespace {

using namespace std::chrono_literals;

// SEM 6
TEST(SpaceConfig, ResolvesPermitsModeByMode) {
  SpaceConfig config;
  EXPECT_EQ(config.permits_of("a"), (Permits{1, 1}));
  config = changed(config, SetPermits{"*", Mode::read, 100});
  config = changed(config, SetPermits{"a", Mode::write, 2});
  EXPECT_EQ(config.permits_of("a"), (Permits{100, 2}));
  EXPECT_EQ(config.permits_of("b"), (Permits{100, 1}));
  EXPECT_EQ(config.permits_of("@app:x"), (Permits{1, 1})) << "the defaults are for people's locks";
  config = changed(config, SetPermits{"a", Mode::write, {}});
  EXPECT_EQ(config.permits.count("a"), 0U) << "an entry without a value is no entry";
  EXPECT_EQ(config.version, 3);
}

// SEM 7
TEST(SpaceConfig, EachChangeRaisesTheOneVersion) {
  SpaceConfig config;
  config = changed(config, SetMaxLease{1h});
  config = changed(config, SetMigrationPhase{2});
  config = changed(config, RaiseStampBase{Stamp{50}});
  config = changed(config, RaiseStampBase{Stamp{40}});
  EXPECT_EQ(config.version, 4);
  EXPECT_EQ(config.max_lease, 1h);
  EXPECT_EQ(config.migration_phase, 2);
  EXPECT_EQ(config.stamp_base, Stamp{50}) << "never goes back";
}

// SEM 7
TEST(SpaceConfig, AChangeAtAnotherVersionChangesNothing) {
  SpaceConfig config;
  config = changed(config, SetMigrationPhase{2, 0});
  EXPECT_EQ(config.migration_phase, 2);
  EXPECT_EQ(config.version, 1);
  const SpaceConfig there = config;
  for (const std::int64_t version : {-1, 0, 2}) {
    EXPECT_EQ(changed(there, SetMigrationPhase{3, version}), there);
  }
  config = changed(there, SetMigrationPhase{2, 1});
  EXPECT_EQ(config.version, 2) << "also where the value was there";
}

TEST(CheckChange, RefusesBadValues) {
  EXPECT_TRUE(check_change(SetPermits{"*", Mode::read, 1}));
  EXPECT_TRUE(check_change(SetPermits{"a", Mode::read, max_permits}));
  EXPECT_FALSE(check_change(SetPermits{"a", Mode::read, 0}));
  EXPECT_FALSE(check_change(SetPermits{"a", Mode::read, max_permits + 1}));
  EXPECT_FALSE(check_change(SetPermits{"", Mode::read, 1}));
  EXPECT_FALSE(check_change(SetPermits{"@app:x", Mode::read, 1}));
  EXPECT_FALSE(check_change(SetMaxLease{999ms}));
  EXPECT_FALSE(check_change(SetMaxLease{24h * 31}));
  EXPECT_FALSE(check_change(SetMigrationPhase{-1}));
  EXPECT_FALSE(check_change(RaiseStampBase{Stamp{-1}}));
}

}  // namespace
}  // namespace lockset
