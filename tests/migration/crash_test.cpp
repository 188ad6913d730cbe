// Every step, interrupted at each single call to a store: what is left is safe, and the same call
// continues from it.
#include "backends/migrate/view.h"
#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

enum class Trouble {
  dies_before,  // this call and all later ones do not reach the store
  dies_after,   // the store does it, but nothing after it
  lost_reply,   // the store does it and the reply is lost; everything after it succeeds
};

struct CrashedStep {
  MigrationPhase from;
  Move move;
  MigrationPhase to;
};

constexpr CrashedStep steps[] = {
    {MigrationPhase::old_only, &Migration::start, MigrationPhase::shadow},
    {MigrationPhase::shadow, &Migration::advance, MigrationPhase::dual_old},
    {MigrationPhase::dual_old, &Migration::advance, MigrationPhase::dual_new},
    {MigrationPhase::dual_new, &Migration::advance, MigrationPhase::new_only},
    {MigrationPhase::new_only, &Migration::advance, MigrationPhase::closed},
    {MigrationPhase::closed, &Migration::finish, MigrationPhase::finished},
    {MigrationPhase::closed, &Migration::roll_back, MigrationPhase::new_only},
    {MigrationPhase::new_only, &Migration::roll_back, MigrationPhase::dual_new},
    {MigrationPhase::dual_new, &Migration::roll_back, MigrationPhase::dual_old},
    {MigrationPhase::dual_old, &Migration::roll_back, MigrationPhase::shadow},
    {MigrationPhase::shadow, &Migration::roll_back, MigrationPhase::old_only},
};

class Crash : public Stores,
              public ::testing::WithParamInterface<std::tuple<CrashedStep, Trouble>> {};

TEST_P(Crash, AtEachCall) {
  const auto& [step, trouble] = GetParam();
  bool reached = true;
  int calls = 0;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("call " + std::to_string(at));
    ASSERT_LT(at, 100);
    start_anew();
    go_to(step.from);
    const Stamp last_of_new =
        step.from == MigrationPhase::dual_new ? take(new_store, "x", "+3.17", 1s) : Stamp{};
    reached = false;
    calls = 0;
    bool dead = false;
    // Copies: structured bindings can't be captured.
    const Trouble what = trouble;
    Migration one = watched([&, what](bool reading) -> WatchedBackend::Verdict {
      const bool now = calls++ == at;
      reached = reached || now;
      if (dead) return {Error{Errc::unavailable, "gone"}, false};
      if (!now) return {};
      dead = what != Trouble::lost_reply;
      // A call that only reads leaves no doubt.
      return {Error{reading ? Errc::unavailable : Errc::indeterminate, "lost"},
              what != Trouble::dies_before};
    });
    const Result<MigrationPhase> first = make(one, step.move);
    // One lost reply is looked up, or the call is repeated.
    if (!reached || what == Trouble::lost_reply) {
      ASSERT_TRUE(first.ok()) << first.error().message;
    }
    if (first) {
      EXPECT_EQ(*first, step.to);
    }
    // Whatever is left, the marks belong together.
    const Result<migrate::Stage> stage = migrate::stage_of(config(old_store), config(new_store));
    ASSERT_TRUE(stage.ok()) << stage.error().message;

    if (stage->phase != step.to) {
      ASSERT_FALSE(first.ok());
      EXPECT_EQ(stage->phase, step.from);
      clock.advance(10s);  // the dead process's hold ends
      Migration other = migration();
      const Result<MigrationPhase> again = make(other, step.move);
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(*again, step.to);
    }
    EXPECT_EQ(phase(), step.to);
    if (step.to == MigrationPhase::dual_old && step.from == MigrationPhase::dual_new) {
      EXPECT_GE(config(old_store).stamp_base, last_of_new);
    }
    // If the reply of the last release is lost, that hold ends with its lease; all others are
    // released.
    clock.advance(1min);
    EXPECT_TRUE(old_client()->inspect({}, soon()).value().holds.empty());
    EXPECT_TRUE(new_client()->inspect({}, soon()).value().holds.empty());
  }
  EXPECT_GE(calls, 4) << "it can't have asked both stores";
}

std::string name_of_crash(const ::testing::TestParamInfo<std::tuple<CrashedStep, Trouble>>& each) {
  const CrashedStep& step = std::get<0>(each.param);
  const char* const troubles[] = {"DiesBefore", "DiesAfter", "LosesAReply"};
  std::string name = std::string(to_string(step.from)) + "To" + std::string(to_string(step.to)) +
                     troubles[static_cast<int>(std::get<1>(each.param))];
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EachStep, Crash,
                         ::testing::Combine(::testing::ValuesIn(steps),
                                            ::testing::Values(Trouble::dies_before,
                                                              Trouble::dies_after,
                                                              Trouble::lost_reply)),
                         name_of_crash);

}  // namespace
}  // namespace lockset::migration_tests
