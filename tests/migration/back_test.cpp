// The way back: safe from everywhere but the end, and stamps never go back.
#include <gmock/gmock.h>

#include "tests/migration/stores.h"

namespace lockset::testing {
namespace {

using Back = Stores;
using ::testing::HasSubstr;

TEST_F(Back, EachStepChangesTheMarksAsTheProtocolSays) {
  go_to(MigrationPhase::closed);
  const std::uint32_t number = mark(old_store).migration;
  Migration one = migration();
  ASSERT_EQ(one.roll_back(soon()).value(), MigrationPhase::new_only);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_new, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::open, number}));

  ASSERT_EQ(one.roll_back(soon()).value(), MigrationPhase::dual_new);
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));

  EXPECT_EQ(refusal(one.roll_back(soon())).code, Errc::unavailable);
  clock.advance(9999ms);
  EXPECT_EQ(refusal(one.roll_back(clock.now())).code, Errc::unavailable);
  clock.advance(1ms);
  ASSERT_EQ(one.roll_back(soon()).value(), MigrationPhase::dual_old);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_old, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));

  ASSERT_EQ(one.roll_back(soon()).value(), MigrationPhase::shadow);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::shadow, number}));
  ASSERT_EQ(one.roll_back(soon()).value(), MigrationPhase::old_only);
  EXPECT_EQ(mark(old_store), MigrationMark{});
  EXPECT_EQ(mark(new_store), MigrationMark{});
  EXPECT_EQ(refusal(one.roll_back(soon())).code, Errc::invalid);
}

TEST_F(Back, TheOldStoresStampsGoOnAboveAllOfTheNewStore) {
  go_to(MigrationPhase::dual_new);
  // Stamps of a store whose clock is far ahead.
  ASSERT_TRUE(
      new_client()->change_config(RaiseStampBase{Stamp{1'000'000'000'000'000'000}}, soon()).ok());
  const Stamp last = take(new_store, "x", "+3.17");
  go_to(MigrationPhase::dual_old);
  EXPECT_GT(take(old_store, "y", "+2"), last);
}

TEST_F(Back, ARequestOfDualNewThatArrivesLateIsRefusedAfterwards) {
  go_to(MigrationPhase::dual_new);
  const std::int64_t version = config(new_store).version;
  go_to(MigrationPhase::dual_old);
  EXPECT_GT(config(new_store).version, version);
}

TEST_F(Back, HoldsOfTheNewStoreAloneStandInTheWay) {
  for (const std::string tag : {"", "+4"}) {
    SCOPED_TRACE(tag);
    go_to(MigrationPhase::dual_new);
    const Stamp held = take(new_store, "db", tag);
    Migration one = migration();
    const Error refused = refusal(one.roll_back(soon()));
    EXPECT_EQ(refused.code, Errc::unavailable);
    EXPECT_THAT(refused.message, HasSubstr("\"db\" (write)"));
    EXPECT_THAT(refused.message, HasSubstr("ann@host:7 job"));
    EXPECT_THAT(refused.message, HasSubstr("in the new store alone"));
    release(new_store, held);
    EXPECT_EQ(refusal(one.roll_back(soon())).code, Errc::unavailable);
    clock.advance(10s);
    EXPECT_EQ(one.roll_back(soon()).value(), MigrationPhase::dual_old);
  }
}

TEST_F(Back, HoldsInBothStoresAndTrialsDoNot) {
  go_to(MigrationPhase::dual_new);
  take(old_store, "db", "+3");
  take(new_store, "db", "+3.17");
  take(new_store, "old", "+2.16");
  take(new_store, "trial", "+1.15");
  go_to(MigrationPhase::dual_old);
}

TEST_F(Back, TheFirstTwoPhasesNeedNoNewStore) {
  for (const MigrationPhase from : {MigrationPhase::dual_old, MigrationPhase::shadow}) {
    SCOPED_TRACE(to_string(from));
    go_to(from);
    auto watch = std::make_shared<WatchedBackend::Watch>([](bool) {
      return WatchedBackend::Verdict{Error{Errc::unavailable, "down"}, false};
    });
    Migration one(old_client(), std::make_unique<WatchedBackend>(new_client(), watch), clock);
    ASSERT_TRUE(one.roll_back(soon()).ok());
    EXPECT_EQ(mark(old_store).step, from == MigrationPhase::shadow ? Step::none : Step::shadow);
  }
  // What is left in the new store is taken up.
  EXPECT_EQ(mark(new_store).step, Step::prepared);
  go_to(MigrationPhase::shadow);
}

TEST_F(Back, AStartWhoseSecondHalfIsMissingIsTakenBack) {
  set_mark(new_store, {Step::prepared, 4711});
  EXPECT_EQ(migration().roll_back(soon()).value(), MigrationPhase::old_only);
  EXPECT_EQ(mark(new_store), MigrationMark{});
}

TEST_F(Back, ASwitchThatSomebodyBeganIsTakenUp) {
  go_to(MigrationPhase::dual_new);
  const Stamp last = take(new_store, "x", "+3.17");
  set_mark(old_store, {Step::to_old, mark(old_store).migration});
  EXPECT_EQ(migration().roll_back(soon()).value(), MigrationPhase::dual_old);
  EXPECT_GT(take(old_store, "y", "+2"), last);
}

TEST_F(Back, AWayAheadThatWasNotGoneToItsEndIsTakenBack) {
  go_to(MigrationPhase::dual_old);
  set_mark(old_store, {Step::to_new, mark(old_store).migration});
  EXPECT_EQ(migration().roll_back(soon()).value(), MigrationPhase::dual_old);
  EXPECT_EQ(mark(old_store).step, Step::dual_old);
}

TEST_F(Back, NoWayLeadsBackFromTheEnd) {
  go_to(MigrationPhase::finished);
  const Error refused = refusal(migration().roll_back(soon()));
  EXPECT_EQ(refused.code, Errc::invalid);
  EXPECT_THAT(refused.message, HasSubstr("no way back"));
}

}  // namespace
}  // namespace lockset::testing
