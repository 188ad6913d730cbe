// The combined meaning of two configurations.
#include "backends/migrate/view.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/migration_mark.h"

namespace lockset::migrate {
namespace {

using Phase = MigrationPhase;
using Step = MigrationMark::Step;

constexpr Step all_steps[] = {Step::none,     Step::shadow, Step::dual_old, Step::to_new,
                              Step::dual_new, Step::to_old, Step::closed,   Step::prepared,
                              Step::open,     Step::done};

SpaceConfig with_mark(Step step, std::uint32_t migration = 17) {
  SpaceConfig config;
  config.migration_phase = MigrationMark{step, step == Step::none ? 0 : migration}.encode();
  return config;
}

struct Row {
  Step in_old;
  Step in_new;
  Stage stage;
};

// ADR 0035's table, and stores without a migration, or not yet in a common one. Everything else is
// refused.
const std::vector<Row> table = {
    {Step::none, Step::none, {Phase::old_only}},
    {Step::none, Step::prepared, {Phase::old_only}},
    {Step::none, Step::closed, {Phase::old_only}},
    {Step::done, Step::none, {Phase::old_only}},
    {Step::done, Step::prepared, {Phase::old_only}},
    {Step::done, Step::closed, {Phase::old_only}},
    {Step::shadow, Step::prepared, {Phase::shadow, false, 17}},
    {Step::dual_old, Step::prepared, {Phase::dual_old, false, 17}},
    {Step::to_new, Step::prepared, {Phase::dual_old, true, 17}},
    {Step::dual_new, Step::prepared, {Phase::dual_new, false, 17}},
    {Step::to_old, Step::prepared, {Phase::dual_new, true, 17}},
    {Step::dual_new, Step::open, {Phase::new_only, false, 17}},
    {Step::closed, Step::open, {Phase::closed, false, 17}},
    {Step::closed, Step::done, {Phase::finished, false, 17}},
};

TEST(StageOf, EveryPairOfMarksIsAStageOrIsRefused) {
  std::size_t stages = 0;
  for (const Step in_old : all_steps) {
    for (const Step in_new : all_steps) {
      SCOPED_TRACE(testing::Message()
                   << static_cast<int>(in_old) << ", " << static_cast<int>(in_new));
      const Result<Stage> stage = stage_of(with_mark(in_old), with_mark(in_new));
      const auto row = std::find_if(table.begin(), table.end(), [&](const Row& each) {
        return each.in_old == in_old && each.in_new == in_new;
      });
      if (row == table.end()) {
        ASSERT_FALSE(stage);
        EXPECT_EQ(stage.error().code, Errc::misconfigured);
      } else {
        ++stages;
        ASSERT_TRUE(stage) << stage.error().message;
        EXPECT_EQ(*stage, row->stage);
      }
    }
  }
  EXPECT_EQ(stages, table.size());
}

TEST(StageOf, TwoStoresOfDifferentMigrationsAreRefused) {
  for (const Row& row : table) {
    const bool both = row.in_old >= Step::shadow && row.in_old <= Step::closed;
    if (!both) continue;
    const Result<Stage> stage = stage_of(with_mark(row.in_old, 17), with_mark(row.in_new, 18));
    ASSERT_FALSE(stage) << static_cast<int>(row.in_old);
    EXPECT_EQ(stage.error().code, Errc::misconfigured);
  }
}

TEST(StageOf, OneStoreAloneTellsWhereItsOwnHoldsCountAlone) {
  for (const Step step : all_steps) {
    SCOPED_TRACE(static_cast<int>(step));
    const Result<Stage> old_alone = stage_of(with_mark(step), {});
    if (step == Step::none || step == Step::done) {
      EXPECT_EQ(old_alone.value(), Stage{Phase::old_only});
    } else if (step == Step::shadow) {
      EXPECT_EQ(old_alone.value(), (Stage{Phase::shadow, false, 17}));
    } else {
      ASSERT_FALSE(old_alone);
      EXPECT_EQ(old_alone.error().code, Errc::unavailable);
    }
    const Result<Stage> new_alone = stage_of({}, with_mark(step));
    if (step == Step::open) {
      EXPECT_EQ(new_alone.value(), (Stage{Phase::new_only, false, 17}));
    } else if (step == Step::done) {
      EXPECT_EQ(new_alone.value(), (Stage{Phase::finished, false, 17}));
    } else {
      ASSERT_FALSE(new_alone);
      EXPECT_EQ(new_alone.error().code, Errc::unavailable);
    }
  }
}

TEST(StageOf, MarksOfANewerVersionAreRefused) {
  SpaceConfig newer = with_mark(Step::shadow);
  newer.migration_phase = (17 << 8) | 11;
  EXPECT_EQ(stage_of(newer, with_mark(Step::prepared)).error().code, Errc::misconfigured);
  EXPECT_EQ(stage_of(with_mark(Step::shadow), newer).error().code, Errc::misconfigured);
  EXPECT_EQ(stage_of({}, {}).error().code, Errc::unavailable);
}

// --- put_together ---

using Entry = SpaceConfig::Entry;

TEST(PutTogether, PermitsOfBothAreTheLowerOnesForEveryKindOfEntries) {
  const std::vector<Entry> kinds = {{}, {2, {}}, {{}, 2}, {5, 1}, {1, 5}, {3, 3}};
  for (const Entry& old_default : kinds) {
    for (const Entry& old_own : kinds) {
      for (const Entry& new_default : kinds) {
        for (const Entry& new_own : kinds) {
          SpaceConfig of_old = with_mark(Step::dual_old);
          SpaceConfig of_new = with_mark(Step::prepared);
          const auto put = [](SpaceConfig& config, const char* name, const Entry& entry) {
            if (entry != Entry{}) config.permits[name] = entry;
          };
          put(of_old, "*", old_default);
          put(of_old, "own", old_own);
          put(of_new, "*", new_default);
          put(of_new, "own", new_own);
          for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
            const SpaceConfig both = put_together(phase, of_old, of_new);
            for (const char* name : {"own", "other", "@app:x"}) {
              const Permits lower{
                  std::min(of_old.permits_of(name).read, of_new.permits_of(name).read),
                  std::min(of_old.permits_of(name).write, of_new.permits_of(name).write)};
              ASSERT_EQ(both.permits_of(name), lower) << name;
            }
          }
        }
      }
    }
  }
}

TEST(PutTogether, OneStoreCountsAloneInItsPhases) {
  SpaceConfig of_old = with_mark(Step::shadow);
  of_old.permits["a"] = {7, 7};
  of_old.max_lease = std::chrono::minutes(7);
  of_old.version = 100;
  SpaceConfig of_new = with_mark(Step::prepared);
  of_new.permits["a"] = {2, 2};
  of_new.max_lease = std::chrono::minutes(2);
  of_new.version = 11;
  of_new.epochs["app"] = 5;
  for (const Phase phase : {Phase::old_only, Phase::shadow}) {
    const SpaceConfig one = put_together(phase, of_old, of_new);
    EXPECT_EQ(one.permits_of("a"), (Permits{7, 7}));
    EXPECT_EQ(one.max_lease, std::chrono::minutes(7));
    EXPECT_EQ(one.version, 111);
    EXPECT_EQ(one.migration_phase, 0);
    EXPECT_TRUE(one.epochs.empty());
    EXPECT_EQ(put_together(phase, of_old, {}).version, 100);
  }
  for (const Phase phase : {Phase::new_only, Phase::closed, Phase::finished}) {
    const SpaceConfig one = put_together(phase, of_old, of_new);
    EXPECT_EQ(one.permits_of("a"), (Permits{2, 2}));
    EXPECT_EQ(one.max_lease, std::chrono::minutes(2));
    EXPECT_EQ(put_together(phase, {}, of_new).version, 11);
  }
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    EXPECT_EQ(put_together(phase, of_old, of_new).max_lease, std::chrono::minutes(2));
  }
}

}  // namespace
}  // namespace lockset::migrate
