// The way back: safe from every phase but the last, and stamps never go back.
#include <gmock/gmock.h>

#include "tests/migration/stores.h"

namespace lockset::migration_tests {
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
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));
  EXPECT_EQ(refusal(one.roll_back(soon())).code, Errc::invalid);
}

TEST_F(Back, TheOldStoresStampsGoOnAboveAllOfTheNewStore) {
  go_to(MigrationPhase::dual_new);
  // The stamps of a store whose clock is far ahead.
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
  (void)take(old_store, "db", "+3");
  (void)take(new_store, "db", "+3.17");
  (void)take(new_store, "old", "+2.16");
  (void)take(new_store, "trial", "+1.15");
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
  // The left-over mark in the new store is used again.
  EXPECT_EQ(mark(new_store).step, Step::prepared);
  go_to(MigrationPhase::shadow);
}

// For example, because its space was made anew.
TEST_F(Back, ANewStoreThatKnowsOfNoMoveIsLeft) {
  for (const MigrationPhase from : {MigrationPhase::dual_old, MigrationPhase::shadow}) {
    SCOPED_TRACE(to_string(from));
    go_to(from);
    new_store = make_memory_store(clock);
    const MigrationStatus status = migration().status(soon()).value();
    EXPECT_EQ(status.phase, from);
    EXPECT_THAT(status.notes, ::testing::Contains(HasSubstr("lockset migrate rollback")));
    Migration one = migration();
    while (mark(old_store).step != Step::none) ASSERT_TRUE(one.roll_back(soon()).ok());
  }
}

// The holds are in the old store only: a program with only the new address must not be let in next
// to them, neither before nor after the way back.
// SEM 21
TEST_F(Back, TheNewSpaceStaysShutUntilSomebodyGivesItFree) {
  for (const MigrationPhase from : {MigrationPhase::shadow, MigrationPhase::closed}) {
    SCOPED_TRACE(to_string(from));
    start_anew();
    go_to(from);
    go_to(MigrationPhase::old_only);
    EXPECT_EQ(refusal(may_use_alone(config(new_store).migration_phase)).code, Errc::misconfigured);
    const MigrationStatus status = migration().status(soon()).value();
    EXPECT_TRUE(status.new_space_kept);
    EXPECT_THAT(status.notes, ::testing::Contains(HasSubstr("lockset migrate release-new")));
    // There is nothing to take back; but a migration may begin again.
    const Error refused = refusal(migration().roll_back(soon()));
    EXPECT_EQ(refused.code, Errc::invalid);
    EXPECT_THAT(refused.message, HasSubstr("lockset migrate release-new"));
    go_to(MigrationPhase::dual_new);
    go_to(MigrationPhase::old_only);

    ASSERT_TRUE(migration().release_new(soon()).ok());
    EXPECT_EQ(mark(new_store), MigrationMark{});
    EXPECT_TRUE(may_use_alone(config(new_store).migration_phase).ok());
    EXPECT_FALSE(migration().status(soon()).value().new_space_kept);
    ASSERT_TRUE(migration().release_new(soon()).ok()) << "once more";
    EXPECT_THAT(refusal(migration().roll_back(soon())).message,
                ::testing::Not(HasSubstr("release-new")));
    go_to(MigrationPhase::shadow);
  }
}

TEST_F(Back, ASpaceThatIsMovedToIsNotGivenFree) {
  for (const MigrationPhase phase :
       {MigrationPhase::shadow, MigrationPhase::dual_old, MigrationPhase::dual_new,
        MigrationPhase::new_only, MigrationPhase::closed}) {
    SCOPED_TRACE(to_string(phase));
    go_to(phase);
    const MigrationMark before = mark(new_store);
    for (const bool gone : {false, true}) {
      const Error refused = refusal(migration().release_new(soon(), gone));
      EXPECT_EQ(refused.code, Errc::misconfigured);
      EXPECT_THAT(refused.message, HasSubstr(to_string(phase)));
    }
    EXPECT_EQ(mark(new_store), before);
  }
  go_to(MigrationPhase::finished);
  EXPECT_EQ(refusal(migration().release_new(soon())).code, Errc::invalid);
}

// If the caller says that the old store is gone, that counts only if the store does not answer.
TEST_F(Back, WithoutTheOldStoreTheNewSpaceIsGivenFreeOnlyOnDemand) {
  const auto without_old = [&] {
    auto watch = std::make_shared<WatchedBackend::Watch>([](bool) {
      return WatchedBackend::Verdict{Error{Errc::unavailable, "down"}, false};
    });
    return Migration(std::make_unique<WatchedBackend>(old_client(), watch), new_client(), clock);
  };
  go_to(MigrationPhase::dual_old);
  const MigrationMark prepared = mark(new_store);
  const Error refused = refusal(without_old().release_new(soon()));
  EXPECT_EQ(refused.code, Errc::unavailable);
  EXPECT_THAT(refused.message, HasSubstr("the old store"));
  EXPECT_EQ(mark(new_store), prepared);
  ASSERT_TRUE(without_old().release_new(soon(), true).ok());
  EXPECT_EQ(mark(new_store), MigrationMark{});
  ASSERT_TRUE(without_old().release_new(soon(), true).ok()) << "once more";
  // A space that contains holds alone is not released.
  set_mark(new_store, {Step::open, prepared.migration});
  EXPECT_EQ(refusal(without_old().release_new(soon(), true)).code, Errc::misconfigured);
  EXPECT_EQ(mark(new_store).step, Step::open);
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
}  // namespace lockset::migration_tests
