// What is refused, and whether the message says what, who and what to do.
#include <gmock/gmock.h>

#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

using Refusals = Stores;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Refusals, StartWhilePermitsDiffer) {
  ASSERT_TRUE(old_client()->change_config(SetPermits{"db", Mode::read, 5}, soon()).ok());
  Migration one = migration();
  const Error refused = refusal(one.start(soon()));
  EXPECT_EQ(refused.code, Errc::misconfigured);
  EXPECT_THAT(refused.message, AllOf(HasSubstr("\"db\" (read): 5 in the old store, the default in "
                                               "the new one"),
                                     HasSubstr("--copy-permits")));
  EXPECT_EQ(one.copy_permits(soon()).value(), 1U);
  EXPECT_EQ(one.copy_permits(soon()).value(), 0U);
  EXPECT_EQ(one.start(soon()).value(), MigrationPhase::shadow);
}

TEST_F(Refusals, StartWhileTheLongestLeaseDiffers) {
  ASSERT_TRUE(old_client()->change_config(SetMaxLease{1h}, soon()).ok());
  Migration one = migration();
  EXPECT_THAT(refusal(one.start(soon())).message, HasSubstr("1h in the old store, 10m in the new"));
  EXPECT_EQ(one.copy_permits(soon()).value(), 1U);
  EXPECT_EQ(one.start(soon()).value(), MigrationPhase::shadow);
}

TEST_F(Refusals, CopyingTakesBackWhatTheNewSpaceHasMore) {
  ASSERT_TRUE(new_client()->change_config(SetPermits{"db", Mode::write, 5}, soon()).ok());
  ASSERT_TRUE(old_client()->change_config(SetPermits{"*", Mode::read, 9}, soon()).ok());
  EXPECT_EQ(migration().copy_permits(soon()).value(), 2U);
  EXPECT_EQ(config(old_store).permits, config(new_store).permits);
}

TEST_F(Refusals, CopyingWhenTheOldPermitsDoNotCountAnyMore) {
  go_to(MigrationPhase::new_only);
  EXPECT_EQ(refusal(migration().copy_permits(soon())).code, Errc::misconfigured);
}

TEST_F(Refusals, PermitsThatDifferBeforeTheNewStoreCounts) {
  go_to(MigrationPhase::shadow);
  ASSERT_TRUE(old_client()->change_config(SetPermits{"db", Mode::read, 5}, soon()).ok());
  EXPECT_THAT(refusal(migration().advance(soon())).message, HasSubstr("\"db\" (read)"));
}

TEST_F(Refusals, StartWhileTheNewSpaceIsInUse) {
  const Stamp held = take(new_store, "theirs", "");
  const Error refused = refusal(migration().start(soon()));
  EXPECT_THAT(refused.message, AllOf(HasSubstr("\"theirs\" (write)"), HasSubstr("ann@host:7 job"),
                                     HasSubstr("choose another space")));
  EXPECT_EQ(mark(new_store), MigrationMark{});
  release(new_store, held);
  EXPECT_EQ(migration().start(soon()).value(), MigrationPhase::shadow);
}

TEST_F(Refusals, TwoAddressesOfOneSpace) {
  new_store = old_store;
  const Error refused = refusal(migration().start(soon()));
  EXPECT_EQ(refused.code, Errc::unsupported);
  EXPECT_THAT(refused.message, HasSubstr("same lock space"));
  EXPECT_EQ(mark(old_store), MigrationMark{});
}

TEST_F(Refusals, MarksOfDifferentMigrations) {
  set_mark(old_store, {Step::shadow, 1});
  set_mark(new_store, {Step::prepared, 2});
  Migration one = migration();
  EXPECT_EQ(refusal(one.start(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(one.roll_back(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(one.finish(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(one.status(soon())).code, Errc::misconfigured);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::shadow, 1}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, 2}));
}

TEST_F(Refusals, FromAndToExchanged) {
  go_to(MigrationPhase::dual_new);
  std::swap(old_store, new_store);
  EXPECT_EQ(refusal(migration().advance(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(migration().roll_back(soon())).code, Errc::misconfigured);
}

TEST_F(Refusals, StartInTheMiddle) {
  go_to(MigrationPhase::dual_old);
  EXPECT_THAT(refusal(migration().start(soon())).message, HasSubstr("its phase is dual-old"));
}

TEST_F(Refusals, AdvanceBeforeTheStartAndAtTheEnd) {
  EXPECT_THAT(refusal(migration().advance(soon())).message, HasSubstr("lockset migrate start"));
  go_to(MigrationPhase::closed);
  EXPECT_THAT(refusal(migration().advance(soon())).message, HasSubstr("lockset migrate finish"));
}

TEST_F(Refusals, FinishBeforeItIsClosed) {
  go_to(MigrationPhase::new_only);
  const Error refused = refusal(migration().finish(soon()));
  EXPECT_EQ(refused.code, Errc::misconfigured);
  EXPECT_THAT(refused.message, HasSubstr("phase new-only"));
}

TEST_F(Refusals, ClientsOfTheOldStoreAloneBeforeTheStampsChange) {
  go_to(MigrationPhase::dual_old);
  const Stamp held = take(old_store, "db", "");
  (void)take(old_store, "mine", "+2");
  (void)take(old_store, "early", "+0");
  Migration one = migration();
  const auto obstacles = one.obstacles_ahead(soon()).value();
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_TRUE(obstacles[0].passes);
  EXPECT_THAT(obstacles[0].text, AllOf(HasSubstr("\"db\" (write)"), HasSubstr("ann@host:7 job"),
                                       HasSubstr("restart it with migrate.from and migrate.to")));
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);
  EXPECT_EQ(mark(old_store).step, Step::dual_old);
  release(old_store, held);
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);
  clock.advance(3s);
  EXPECT_EQ(one.advance(soon()).value(), MigrationPhase::dual_new);
}

TEST_F(Refusals, HoldsOfBeforeDualNewBeforeTheNewOneOpens) {
  for (const std::string tag : {"", "+0", "+1", "+2", "+3:1", "+4:1"}) {
    SCOPED_TRACE(tag);
    go_to(MigrationPhase::dual_new);
    const Stamp held = take(old_store, "db", tag);
    Migration one = migration();
    const Error refused = refusal(one.advance(soon()));
    EXPECT_EQ(refused.code, Errc::unavailable);
    EXPECT_THAT(refused.message, AllOf(HasSubstr("\"db\" (write)"), HasSubstr("ann@host:7 job"),
                                       HasSubstr("the new store does not know it")));
    clock.advance(1min);
    EXPECT_FALSE(one.advance(soon()).ok());
    EXPECT_EQ(mark(new_store).step, Step::prepared);
    release(old_store, held);
    go_to(MigrationPhase::new_only);
  }
}

TEST_F(Refusals, AHoldWithoutALeaseDoesNotPass) {
  go_to(MigrationPhase::dual_new);
  (void)take(old_store, "db", "+0", 30s, true);
  const auto obstacles = migration().obstacles_ahead(soon()).value();
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_FALSE(obstacles[0].passes);
  EXPECT_THAT(obstacles[0].text, HasSubstr("for ever"));
  EXPECT_EQ(refusal(migration().advance(soon())).code, Errc::misconfigured);
}

TEST_F(Refusals, HoldsInBothStoresPassIntoNewOnlyButNotOutOfTheOldStore) {
  go_to(MigrationPhase::dual_new);
  const Stamp held = take(old_store, "db", "+3");
  (void)take(new_store, "db", "+3.1");
  go_to(MigrationPhase::new_only);
  EXPECT_THAT(refusal(migration().advance(soon())).message, HasSubstr("held in the old store"));
  release(old_store, held);
  EXPECT_EQ(migration().advance(soon()).value(), MigrationPhase::closed);
}

TEST_F(Refusals, ManyHoldsAreCounted) {
  go_to(MigrationPhase::dual_new);
  for (int i = 0; i < 9; ++i) (void)take(old_store, "n" + std::to_string(i), "+0");
  const auto obstacles = migration().obstacles_ahead(soon()).value();
  ASSERT_EQ(obstacles.size(), 6U);
  EXPECT_THAT(obstacles.back().text, HasSubstr("4 more held in the old store since"));
}

}  // namespace
}  // namespace lockset::migration_tests
