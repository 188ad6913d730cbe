// Two people who steer at once. A hold keeps them apart. If it does not (its lease ended while one
// was stopped), only the compare-and-sets do.
#include <gmock/gmock.h>

#include "backends/migrate/view.h"
#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

struct Pair {
  MigrationPhase from;
  Move one;
  Move other;
};

constexpr MigrationPhase phases[] = {MigrationPhase::old_only, MigrationPhase::shadow,
                                     MigrationPhase::dual_old, MigrationPhase::dual_new,
                                     MigrationPhase::new_only, MigrationPhase::closed};

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const MigrationPhase from : phases) {
    const Move moves[] = {from == MigrationPhase::old_only ? &Migration::start
                          : from == MigrationPhase::closed ? &Migration::finish
                                                           : &Migration::advance,
                          &Migration::roll_back};
    for (const Move one : moves) {
      for (const Move other : moves) all.push_back({from, one, other});
    }
  }
  return all;
}

class Together : public Stores, public ::testing::WithParamInterface<std::tuple<Pair, bool>> {
 protected:
  Result<migrate::Stage> stage() { return migrate::stage_of(config(old_store), config(new_store)); }
  void end_steering_hold() {
    for (const HoldInfo& hold : old_client()->inspect({}, soon()).value().holds) {
      if (hold.items.front().name == "@migrate") release(old_store, hold.stamp);
    }
  }
};

// SEM 21
TEST_P(Together, NeitherSpoilsWhatTheOtherReliesOn) {
  const auto& [pair, somebody_holds] = GetParam();
  const Move other_move = pair.other;
  const bool holds = somebody_holds;
  bool reached = true;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("before call " + std::to_string(at));
    ASSERT_LT(at, 200);
    start_anew();
    go_to(pair.from);
    reached = false;
    int calls = 0;
    bool inside = false;
    Stamp alone;        // a hold in the old store only
    Stamp last_of_new;  // the last stamp that counted, from the new store
    Migration one = watched([&](bool) -> WatchedBackend::Verdict {
      if (inside || calls++ != at) return {};
      inside = reached = true;
      end_steering_hold();
      Migration other = migration();
      static_cast<void>(make(other, other_move).ok());
      if (const auto now = stage(); holds && now && !now->switching) {
        if (now->phase <= MigrationPhase::dual_old) alone = take(old_store, "alone", "");
        if (now->phase == MigrationPhase::dual_new) last_of_new = take(new_store, "n", "+3.17", 1s);
      }
      inside = false;
      return {};
    });
    const Result<MigrationPhase> done = make(one, pair.one);

    const Result<migrate::Stage> now = stage();
    if (now && alone) {
      EXPECT_LE(now->phase, MigrationPhase::dual_new) << "a hold in the old store alone is left";
    }
    if (now && last_of_new && now->phase <= MigrationPhase::dual_old) {
      EXPECT_GT(config(old_store).stamp_base, last_of_new);
    }
    if (!now) {
      // Nothing is granted; the next step mends it.
      const Result<MigrationStatus> status = migration().status(soon());
      const bool by_status = status && status->switching;
      const bool old_is_free = mark(new_store).step == Step::none;  // a way back is still possible
      EXPECT_TRUE(by_status || old_is_free) << now.error().message;
    }
    // It never gets stuck.
    clock.advance(10s);
    if (alone) release(old_store, alone);
    Migration last = migration();
    if (mark(new_store).step == Step::done || mark(old_store).step == Step::closed) {
      const Result<MigrationPhase> end = make(last, &Migration::finish);
      if (!end) go_to(MigrationPhase::finished);
    } else {
      Result<MigrationPhase> back = make(last, &Migration::roll_back);
      for (int i = 0; i < 6 && back; ++i) back = make(last, &Migration::roll_back);
      ASSERT_EQ(back.error().code, Errc::invalid) << back.error().message;
      EXPECT_EQ(phase(), MigrationPhase::old_only);
    }
  }
}

std::string name_of_pair(const ::testing::TestParamInfo<std::tuple<Pair, bool>>& each) {
  const auto& [pair, somebody_holds] = each.param;
  const auto name = [](Move move) { return move == &Migration::roll_back ? "Back" : "Ahead"; };
  std::string text =
      std::string(to_string(pair.from)) + name(pair.one) + "While" + name(pair.other);
  std::erase(text, '-');
  return text + (somebody_holds ? "AndSomebodyHolds" : "");
}

INSTANTIATE_TEST_SUITE_P(EachPair, Together,
                         ::testing::Combine(::testing::ValuesIn(pairs()), ::testing::Bool()),
                         name_of_pair);

using Steering = Stores;

TEST_F(Steering, WhoSteersAtTheSameTimeIsToldWhoIs) {
  go_to(MigrationPhase::shadow);
  (void)take(old_store, "@migrate", "", 5s);
  const Error refused = refusal(migration().advance(soon()));
  EXPECT_EQ(refused.code, Errc::unavailable);
  EXPECT_THAT(refused.message, ::testing::HasSubstr("ann@host:7 job"));
  EXPECT_EQ(mark(old_store).step, Step::shadow);
  clock.advance(5s);
  EXPECT_EQ(migration().advance(soon()).value(), MigrationPhase::dual_old);
}

// Both look at the phase at the same time, and the way ahead comes last: it must not open the new
// store while holds may again be in the old store only.
TEST_F(Steering, TheWayBackShutsOutAWayAheadThatLookedBefore) {
  go_to(MigrationPhase::dual_new);
  Migration ahead = migration();
  Migration back = migration();
  EXPECT_FALSE(ahead.advance(soon()).ok());
  EXPECT_FALSE(back.roll_back(soon()).ok());
  clock.advance(10s);
  const std::int64_t version = config(new_store).version;
  ASSERT_EQ(back.roll_back(soon()).value(), MigrationPhase::dual_old);
  // What the one who goes ahead would send now.
  const SetMigrationPhase late{MigrationMark{Step::open, mark(old_store).migration}.encode(),
                               version};
  EXPECT_EQ(new_client()->change_config(late, soon()).value().migration_phase,
            (MigrationMark{Step::prepared, mark(old_store).migration}.encode()));
}

// Clients set back a switch that takes too long and continue, and somebody else begins it again:
// between any two calls of the slow one.
// SEM 21: stamps go up on the way back, too
TEST_F(Steering, StampsGrantedWhileASwitchWasSetBackAndBegunAgainAreNotForgotten) {
  bool reached = true;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("before call " + std::to_string(at));
    ASSERT_LT(at, 200);
    start_anew();
    go_to(MigrationPhase::dual_new);
    reached = false;
    int calls = 0;
    bool inside = false;
    Stamp last;
    Migration slow = watched([&](bool) -> WatchedBackend::Verdict {
      if (inside || calls++ != at) return {};
      inside = reached = true;
      const MigrationMark switching = mark(old_store);
      if (switching.step == Step::to_old) {
        set_mark(old_store, {Step::dual_new, switching.migration});
        // An hour's worth of stamps.
        const Stamp far{take(new_store, "n", "+3.17", 1s).value + 3'600'000'000};
        EXPECT_TRUE(new_client()->change_config(RaiseStampBase{far}, soon()).ok());
        last = take(new_store, "m", "+3.17", 1s);
        set_mark(old_store, switching);
      }
      inside = false;
      return {};
    });
    for (int i = 0; i < 10 && mark(old_store).step != Step::dual_old; ++i) {
      static_cast<void>(slow.roll_back(soon()).ok());
      clock.advance(4s);
    }
    ASSERT_EQ(phase(), MigrationPhase::dual_old);
    EXPECT_GT(take(old_store, "y", "+2"), last);
  }
}

// On the way ahead, a grant of dual-new has to see from the old store's stamp base that a hold of
// dual-old coexists with it: otherwise its floor would shut that hold out.
// SEM 8
TEST_F(Steering, HoldsGrantedWhileAWayAheadWasSetBackAndBegunAgainAreBelowTheStampBase) {
  bool reached = true;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("before call " + std::to_string(at));
    ASSERT_LT(at, 200);
    start_anew();
    go_to(MigrationPhase::dual_old);
    reached = false;
    int calls = 0;
    bool inside = false;
    Stamp last;
    Migration slow = watched([&](bool) -> WatchedBackend::Verdict {
      if (inside || calls++ != at) return {};
      inside = reached = true;
      const MigrationMark switching = mark(old_store);
      if (switching.step == Step::to_new) {
        set_mark(old_store, {Step::dual_old, switching.migration});
        // An hour's worth of stamps.
        const Stamp far{take(old_store, "n", "+2", 1s).value + 3'600'000'000};
        EXPECT_TRUE(old_client()->change_config(RaiseStampBase{far}, soon()).ok());
        last = take(old_store, "m", "+2", 1s);
        set_mark(old_store, switching);
      }
      inside = false;
      return {};
    });
    for (int i = 0; i < 10 && mark(old_store).step != Step::dual_new; ++i) {
      static_cast<void>(slow.advance(soon()).ok());
      clock.advance(4s);
    }
    ASSERT_EQ(phase(), MigrationPhase::dual_new);
    EXPECT_GE(config(old_store).stamp_base, last);
  }
}

// The same without the second beginning: the switch is over, and grants continue.
TEST_F(Steering, ASwitchThatWasSetBackIsNotEnded) {
  bool reached = true;
  for (int at = 0; reached; ++at) {
    SCOPED_TRACE("before call " + std::to_string(at));
    ASSERT_LT(at, 200);
    start_anew();
    go_to(MigrationPhase::dual_new);
    reached = false;
    int calls = 0;
    bool inside = false;
    bool set_back = false;
    Migration slow = watched([&](bool) -> WatchedBackend::Verdict {
      if (inside) return {};
      inside = true;
      const MigrationMark now = mark(old_store);
      // From there it continues by a switch that is begun again, or not at all.
      if (set_back && now.step != Step::dual_new) {
        EXPECT_EQ(now.step, Step::to_old);
        set_back = false;
      }
      if (calls++ == at) {
        reached = true;
        set_back = now.step == Step::to_old;
        if (set_back) set_mark(old_store, {Step::dual_new, now.migration});
      }
      inside = false;
      return {};
    });
    for (int i = 0; i < 10 && mark(old_store).step != Step::dual_old; ++i) {
      static_cast<void>(slow.roll_back(soon()).ok());
      clock.advance(4s);
    }
    EXPECT_EQ(phase(), MigrationPhase::dual_old);
  }
}

}  // namespace
}  // namespace lockset::migration_tests
