#include "core/migration_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace lockset {
namespace {

using Step = MigrationMark::Step;
using ::testing::HasSubstr;

constexpr Step steps[] = {Step::shadow, Step::dual_old, Step::to_new, Step::dual_new, Step::to_old,
                          Step::closed, Step::prepared, Step::open,   Step::done};
constexpr std::uint32_t most_migrations = std::numeric_limits<std::uint32_t>::max();

std::int64_t phase(Step step, std::int64_t migration = 1234) {
  return migration * 256 + static_cast<std::int64_t>(step);
}

TEST(MigrationMark, ComesBackAsItWasWritten) {
  std::set<std::int64_t> numbers;
  for (const Step step : steps) {
    for (const std::uint32_t migration : {1U, 1234U, 255U, 256U, most_migrations}) {
      const MigrationMark mark{step, migration};
      const Result<MigrationMark> read = MigrationMark::decode(mark.encode());
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, mark);
      EXPECT_GT(mark.encode(), 0) << "0 is for a space without a migration";
      EXPECT_LE(mark.encode(), std::int64_t{1} << 48);
      numbers.insert(mark.encode());
    }
  }
  EXPECT_EQ(numbers.size(), std::size(steps) * 5) << "no two marks have one number";
}

// Other versions read what this one writes, so the numbers must not change.
TEST(MigrationMark, IsWrittenAsItAlwaysWas) {
  EXPECT_EQ((MigrationMark{Step::shadow, 1}.encode()), 0x101);
  EXPECT_EQ((MigrationMark{Step::dual_old, 1}.encode()), 0x102);
  EXPECT_EQ((MigrationMark{Step::to_new, 1}.encode()), 0x103);
  EXPECT_EQ((MigrationMark{Step::dual_new, 1}.encode()), 0x104);
  EXPECT_EQ((MigrationMark{Step::to_old, 1}.encode()), 0x105);
  EXPECT_EQ((MigrationMark{Step::closed, 1}.encode()), 0x106);
  EXPECT_EQ((MigrationMark{Step::prepared, 1}.encode()), 0x108);
  EXPECT_EQ((MigrationMark{Step::open, 1}.encode()), 0x109);
  EXPECT_EQ((MigrationMark{Step::done, most_migrations}.encode()), 0xFFFFFFFF0A);
}

TEST(MigrationMark, ASpaceWithoutAMigrationHasNone) {
  EXPECT_EQ(MigrationMark{}.encode(), 0);
  const Result<MigrationMark> read = MigrationMark::decode(0);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, MigrationMark{});
  EXPECT_FALSE(read->of_old_store());
  EXPECT_FALSE(read->of_new_store());
  EXPECT_FALSE(read->switching());
}

TEST(MigrationMark, RefusesNumbersThatItDoesNotKnow) {
  const std::int64_t unknown[] = {
      1,  // no migration
      10,
      phase(Step::none),  // no step
      phase(static_cast<Step>(7)),
      phase(static_cast<Step>(11)),
      phase(static_cast<Step>(255)),
      phase(Step::open, std::int64_t{most_migrations} + 1),
      phase(Step::open, -1),
      -1,
      std::numeric_limits<std::int64_t>::max(),
      std::numeric_limits<std::int64_t>::min(),
  };
  for (const std::int64_t number : unknown) {
    const Result<MigrationMark> read = MigrationMark::decode(number);
    ASSERT_FALSE(read) << number;
    EXPECT_EQ(read.error().code, Errc::misconfigured) << number;
    EXPECT_THAT(read.error().message, HasSubstr(std::to_string(number)));
    const Status status = may_use_alone(number);
    ASSERT_FALSE(status) << "who does not know what is meant takes nothing: " << number;
    EXPECT_EQ(status.error().code, Errc::misconfigured) << number;
  }
}

TEST(MigrationMark, BelongsToOneOfTheTwoStores) {
  const std::set<Step> old_store{Step::shadow,   Step::dual_old, Step::to_new,
                                 Step::dual_new, Step::to_old,   Step::closed};
  for (const Step step : steps) {
    const MigrationMark mark{step, 1};
    EXPECT_EQ(mark.of_old_store(), old_store.contains(step)) << mark.encode();
    EXPECT_EQ(mark.of_new_store(), !old_store.contains(step)) << mark.encode();
    EXPECT_EQ(mark.switching(), step == Step::to_new || step == Step::to_old) << mark.encode();
  }
}

// The table of ADR 0035, its last column
TEST(MigrationMark, SaysWhoMayUseAStoreAlone) {
  EXPECT_TRUE(may_use_alone(0)) << "no migration";
  for (const Step step : {Step::shadow, Step::dual_old, Step::open, Step::done}) {
    EXPECT_TRUE(may_use_alone(phase(step))) << phase(step);
  }
  for (const Step step : {Step::to_new, Step::to_old}) {
    const Status status = may_use_alone(phase(step));
    ASSERT_FALSE(status) << phase(step);
    EXPECT_EQ(status.error().code, Errc::unavailable) << "worth another try";
  }
  for (const Step step : {Step::dual_new, Step::closed, Step::prepared}) {
    const Status status = may_use_alone(phase(step));
    ASSERT_FALSE(status) << phase(step);
    EXPECT_EQ(status.error().code, Errc::misconfigured) << phase(step);
  }
  EXPECT_THAT(may_use_alone(phase(Step::dual_new)).error().message, HasSubstr("migrate.from"));
  EXPECT_THAT(may_use_alone(phase(Step::prepared)).error().message, HasSubstr("migrate.from"));
  EXPECT_THAT(may_use_alone(phase(Step::closed)).error().message, HasSubstr("the new one"));
}

}  // namespace
}  // namespace lockset
