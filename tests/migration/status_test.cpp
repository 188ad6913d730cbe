// The status, with both stores and with one.
#include <gmock/gmock.h>

#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Status : public Stores {
 protected:
  // A migration with one store that does not answer.
  Migration without(bool old_one) {
    auto down = std::make_shared<WatchedBackend::Watch>([](bool) {
      return WatchedBackend::Verdict{Error{Errc::unavailable, "no route to host"}, false};
    });
    std::unique_ptr<Backend> first = old_client();
    std::unique_ptr<Backend> second = new_client();
    std::unique_ptr<Backend>& lost = old_one ? first : second;
    lost = std::make_unique<WatchedBackend>(std::move(lost), down);
    return {std::move(first), std::move(second), clock};
  }
};

TEST_F(Status, HoldsAndClients) {
  go_to(MigrationPhase::dual_old);
  (void)take(old_store, "a", "");
  (void)take(old_store, "b", "+2");
  (void)take(new_store, "b", "+2.17");
  const MigrationStatus status = migration().status(soon()).value();
  EXPECT_EQ(status.phase, MigrationPhase::dual_old);
  EXPECT_EQ(status.in_old.value().alone, 1U);
  EXPECT_EQ(status.in_old.value().by_phase[2], 1U);
  EXPECT_EQ(status.in_new.value().by_phase[2], 1U);
  EXPECT_EQ(status.in_new.value().alone, 0U);
  EXPECT_EQ(status.clients.size(), 3U);
  EXPECT_TRUE(status.notes.empty());
  EXPECT_TRUE(status.certain);
}

TEST_F(Status, WithOneStoreDownSaysWhatTheOtherKnows) {
  go_to(MigrationPhase::dual_new);
  MigrationStatus status = without(true).status(soon()).value();
  EXPECT_EQ(status.phase, MigrationPhase::old_only);
  EXPECT_FALSE(status.certain);
  EXPECT_FALSE(status.in_old);
  EXPECT_TRUE(status.in_new);
  EXPECT_THAT(status.notes, Contains(HasSubstr("the old store: no route to host")));
  EXPECT_THAT(status.notes, Contains(HasSubstr("before new-only")));
  status = without(false).status(soon()).value();
  EXPECT_EQ(status.phase, MigrationPhase::dual_new);
  EXPECT_FALSE(status.certain);
  EXPECT_TRUE(status.in_old);
  EXPECT_FALSE(status.in_new);
  EXPECT_THAT(status.notes, Contains(HasSubstr("the new store: no route to host")));
  EXPECT_THAT(status.notes, Contains(HasSubstr("may also be new-only")));
}

TEST_F(Status, StepsNeedTheStoreThatIsDown) {
  go_to(MigrationPhase::dual_new);
  EXPECT_EQ(refusal(without(true).advance(soon())).code, Errc::unavailable);
  EXPECT_EQ(refusal(without(false).advance(soon())).code, Errc::unavailable);
  EXPECT_EQ(refusal(without(false).roll_back(soon())).code, Errc::unavailable);
}

TEST_F(Status, ASwitchUnderWay) {
  go_to(MigrationPhase::dual_old);
  set_mark(old_store, {Step::to_new, mark(old_store).migration});
  MigrationStatus status = migration().status(soon()).value();
  EXPECT_EQ(status.phase, MigrationPhase::dual_old);
  EXPECT_TRUE(status.switching);
  EXPECT_THAT(status.notes, Contains(HasSubstr("nothing is granted")));
  set_mark(old_store, {Step::to_old, mark(old_store).migration});
  status = migration().status(soon()).value();
  EXPECT_EQ(status.phase, MigrationPhase::dual_new);
  EXPECT_TRUE(status.switching);
}

TEST_F(Status, MarksOfTwoStepsAtOnceAreMendedByTheNext) {
  go_to(MigrationPhase::closed);
  const std::uint32_t number = mark(old_store).migration;
  set_mark(new_store, {Step::prepared, number});
  EXPECT_TRUE(migration().status(soon()).value().switching);
  clock.advance(10s);
  Migration one = migration();
  static_cast<void>(one.advance(soon()).ok());
  EXPECT_EQ(phase(), MigrationPhase::dual_new);

  go_to(MigrationPhase::closed);
  set_mark(old_store, {Step::dual_new, number});
  set_mark(new_store, {Step::done, number});
  EXPECT_TRUE(migration().status(soon()).value().switching);
  EXPECT_EQ(migration().finish(soon()).value(), MigrationPhase::finished);
}

TEST_F(Status, AMarkOfANewerVersionIsRefused) {
  ASSERT_TRUE(old_client()->change_config(SetMigrationPhase{(7 << 8) | 77, {}}, soon()).ok());
  EXPECT_EQ(refusal(migration().status(soon())).code, Errc::misconfigured);
  EXPECT_EQ(refusal(migration().advance(soon())).code, Errc::misconfigured);
}

TEST_F(Status, PermitsThatDifferWhileBothCount) {
  go_to(MigrationPhase::dual_old);
  ASSERT_TRUE(old_client()->change_config(SetPermits{"db", Mode::read, 5}, soon()).ok());
  EXPECT_THAT(migration().status(soon()).value().notes,
              Contains(HasSubstr("the lower ones count")));
}

}  // namespace
}  // namespace lockset::migration_tests
