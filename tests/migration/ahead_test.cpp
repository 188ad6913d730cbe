// The way ahead: which step changes which mark, and what the step waits for.
#include <gmock/gmock.h>

#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

using Ahead = Stores;

TEST_F(Ahead, EachStepChangesTheMarksAsTheProtocolSays) {
  Migration one = migration();
  ASSERT_EQ(one.start(soon()).value(), MigrationPhase::shadow);
  const std::uint32_t number = mark(old_store).migration;
  EXPECT_GT(number, 0U);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::shadow, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));

  ASSERT_EQ(one.advance(soon()).value(), MigrationPhase::dual_old);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_old, number}));

  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);  // watched for 3 s
  clock.advance(2999ms);
  EXPECT_EQ(refusal(one.advance(clock.now())).code, Errc::unavailable);
  clock.advance(1ms);
  ASSERT_EQ(one.advance(soon()).value(), MigrationPhase::dual_new);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_new, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));

  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);  // looked at twice, 10 s apart
  clock.advance(9999ms);
  EXPECT_EQ(refusal(one.advance(clock.now())).code, Errc::unavailable);
  clock.advance(1ms);
  ASSERT_EQ(one.advance(soon()).value(), MigrationPhase::new_only);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_new, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::open, number}));

  ASSERT_EQ(one.advance(soon()).value(), MigrationPhase::closed);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::closed, number}));

  ASSERT_EQ(one.finish(soon()).value(), MigrationPhase::finished);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::closed, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::done, number}));
  EXPECT_EQ(one.finish(soon()).value(), MigrationPhase::finished);
}

TEST_F(Ahead, LeavesNoHoldBehind) {
  go_to(MigrationPhase::finished);
  EXPECT_TRUE(old_client()->inspect({}, soon()).value().holds.empty());
  EXPECT_TRUE(new_client()->inspect({}, soon()).value().holds.empty());
}

// SEM 27: what was observed before then is named by stamps of the old store
TEST_F(Ahead, TheSwitchRaisesTheNewStoresStampsAboveAllThatWasObserved) {
  go_to(MigrationPhase::dual_old);
  const auto old_store_now = old_client();
  const std::vector<std::string> names{"x"};
  EXPECT_TRUE(take(old_store, "x", "+2"));
  const auto seen = old_store_now->observe({names, config(old_store).version, soon()}).value();
  go_to(MigrationPhase::dual_new);
  EXPECT_GT(config(new_store).stamp_base, std::get<std::vector<Trace>>(seen).at(0).last_write);
}

TEST_F(Ahead, TheSwitchRaisesTheOldStoresStampsAboveThoseOfDualOld) {
  go_to(MigrationPhase::dual_old);
  const Stamp last = take(old_store, "x", "+2");
  go_to(MigrationPhase::dual_new);
  EXPECT_GE(config(old_store).stamp_base, last);
  EXPECT_GT(take(old_store, "y", "+3"), config(old_store).stamp_base);
}

// With its own number: nothing that was begun before is mistaken for its own.
TEST_F(Ahead, AStartWhoseSecondHalfIsMissingIsBegunAnew) {
  set_mark(new_store, {Step::prepared, 4711});
  ASSERT_EQ(migration().start(soon()).value(), MigrationPhase::shadow);
  EXPECT_EQ(mark(old_store).step, Step::shadow);
  EXPECT_EQ(mark(new_store).step, Step::prepared);
  EXPECT_EQ(mark(old_store).migration, mark(new_store).migration);
  EXPECT_NE(mark(old_store).migration, 4711);
}

// Between the look at the new space and the mark that shuts it, nobody is refused there.
// SEM 21
TEST_F(Ahead, WhoTakesAHoldInTheNewSpaceWhileItIsBegunStandsInTheWay) {
  bool reached = true;
  bool refused = false;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("before call " + std::to_string(at));
    ASSERT_LT(at, 100);
    start_anew();
    reached = false;
    int calls = 0;
    bool held = false;
    Migration one = watched([&](bool) -> WatchedBackend::Verdict {
      if (calls++ != at) return {};
      reached = true;
      held = may_use_alone(config(new_store).migration_phase).ok();
      if (held) (void)take(new_store, "db", "");
      return {};
    });
    const Result<MigrationPhase> begun = one.start(soon());
    EXPECT_NE(begun.ok(), held);
    EXPECT_EQ(mark(old_store).step, held ? Step::none : Step::shadow);
    refused = refused || held;
  }
  EXPECT_TRUE(refused);
}

TEST_F(Ahead, ASwitchThatSomebodyBeganIsTakenUp) {
  go_to(MigrationPhase::dual_old);
  const Stamp last = take(old_store, "x", "+2");
  set_mark(old_store, {Step::to_new, mark(old_store).migration});
  ASSERT_EQ(migration().advance(soon()).value(), MigrationPhase::dual_new);
  EXPECT_GE(config(old_store).stamp_base, last);
}

TEST_F(Ahead, AWayBackThatWasNotGoneToItsEndIsTakenBack) {
  go_to(MigrationPhase::dual_new);
  set_mark(old_store, {Step::to_old, mark(old_store).migration});
  ASSERT_EQ(migration().advance(soon()).value(), MigrationPhase::dual_new);
  EXPECT_EQ(mark(old_store).step, Step::dual_new);
}

TEST_F(Ahead, WhatWasMovedToCanBeLeftAgain) {
  go_to(MigrationPhase::finished);
  const std::uint32_t first = mark(old_store).migration;
  std::swap(old_store, new_store);
  EXPECT_EQ(phase(), MigrationPhase::old_only);
  go_to(MigrationPhase::finished);
  EXPECT_NE(mark(old_store).migration, first);
  EXPECT_EQ(mark(old_store).step, Step::closed);
  EXPECT_EQ(mark(new_store).step, Step::done);
}

TEST_F(Ahead, AHoldThatComesBetweenTheTwoLooksMakesThemCountAnew) {
  go_to(MigrationPhase::dual_new);
  Migration one = migration();
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);
  clock.advance(6s);
  // An expired hold that a renewal brought back.
  const Stamp back = take(old_store, "x", "+0");
  EXPECT_THAT(refusal(one.advance(soon())).message, ::testing::HasSubstr("\"x\""));
  release(old_store, back);
  clock.advance(6s);
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);
  clock.advance(9999ms);
  EXPECT_EQ(refusal(one.advance(clock.now())).code, Errc::unavailable);
  clock.advance(1ms);
  EXPECT_EQ(one.advance(soon()).value(), MigrationPhase::new_only);
}

TEST_F(Ahead, LooksOfAnEarlierDualNewDoNotCount) {
  go_to(MigrationPhase::dual_new);
  Migration one = migration();
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);  // the first look
  go_to(MigrationPhase::dual_old);
  go_to(MigrationPhase::dual_new);
  EXPECT_EQ(refusal(one.advance(soon())).code, Errc::unavailable);  // again a first look
  clock.advance(10s);
  EXPECT_EQ(one.advance(soon()).value(), MigrationPhase::new_only);
}

TEST_F(Ahead, TheNewStoresStampsGoOnAboveAllOfTheOldStore) {
  go_to(MigrationPhase::dual_old);
  // The stamps of a store whose clock is far ahead; and nobody takes anything in dual-new.
  ASSERT_TRUE(
      old_client()->change_config(RaiseStampBase{Stamp{1'000'000'000'000'000'000}}, soon()).ok());
  const Stamp last = take(old_store, "x", "+2", 5s);
  go_to(MigrationPhase::new_only);
  EXPECT_GT(take(new_store, "y", ""), last);
}

TEST_F(Ahead, AStartThatTakesUpAPreparedStoreCanNotBeTakenBackLate) {
  go_to(MigrationPhase::shadow);
  set_mark(old_store, {});
  const std::int64_t version = config(new_store).version;
  ASSERT_EQ(migration().start(soon()).value(), MigrationPhase::shadow);
  EXPECT_GT(config(new_store).version, version);
}

TEST_F(Ahead, AWayBackThatBeganWhileTheNewStoreWasOpenedIsGivenUp) {
  go_to(MigrationPhase::dual_new);
  const std::uint32_t number = mark(old_store).migration;
  set_mark(old_store, {Step::to_old, number});
  set_mark(new_store, {Step::open, number});
  EXPECT_EQ(migration().roll_back(soon()).value(), MigrationPhase::dual_new);
  EXPECT_EQ(mark(old_store), (MigrationMark{Step::dual_new, number}));
  EXPECT_EQ(mark(new_store), (MigrationMark{Step::prepared, number}));
}

}  // namespace
}  // namespace lockset::migration_tests
