// Two people who steer at once, with several moves each: between any two calls of one, the other
// goes on and comes back. Meanwhile clients of every configuration take whatever they can get.
// Their holds must be in a store that every client asks which may get a grant.
#include <random>

#include "backends/migrate/view.h"
#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

// A hold in the old store, in the new one, or in both.
struct Held {
  Stamp in_old;
  Stamp in_new;
};

// Where a client may get a grant at this moment.
struct May {
  bool in_old;
  bool in_new;
  const char* who;
};

class SeveralMoves : public Stores {
 protected:
  void begin_anew() {
    start_anew();
    held_.clear();
    last_ = {};
  }

  // The clients that may get a grant, by the present marks.
  std::vector<May> may() {
    std::vector<May> found;
    const SpaceConfig of_old = config(old_store);
    const SpaceConfig of_new = config(new_store);
    const MigrationMark new_mark = mark(new_store);
    if (may_use_alone(of_old.migration_phase)) found.push_back({true, false, "the old alone"});
    // A space without a migration, or one that was released, is open to all and does not concern
    // these two stores.
    const bool free = new_mark.step == Step::none && mark(old_store).step == Step::none;
    if (!free && may_use_alone(of_new.migration_phase)) {
      found.push_back({false, true, "the new alone"});
    }
    const Result<migrate::Stage> stage = migrate::stage_of(of_old, of_new);
    // A client that finds the new store open asks no other.
    if (migrate::stage_of({}, of_new)) {
      found.push_back({false, true, "both, by the new one"});
    } else if (stage && !stage->switching) {
      found.push_back({migrate::in_old(stage->phase), migrate::in_new(stage->phase), "both"});
    }
    return found;
  }

  // SEM 21
  void check() {
    if (HasFailure()) return;  // report it once
    const std::vector<May> now = may();
    const auto apart = [](const auto& one, const auto& other) {
      return !(one.in_old && other.in_old) && !(one.in_new && other.in_new);
    };
    for (const May& one : now) {
      for (const May& other : now) {
        EXPECT_FALSE(apart(one, other))
            << one.who << " and " << other.who << " are both let in at once";
      }
      for (const Held& hold : held_) {
        EXPECT_FALSE(apart(hold, one))
            << "a hold of the " << (hold.in_old ? "old" : "new")
            << " store alone is left, and clients of " << one.who << " are let in";
      }
    }
  }

  // Takes holds of every kind that somebody may take now.
  void take_all() {
    for (const May& each : may()) {
      const std::string name = "n" + std::to_string(++names_);
      const bool by_both = each.in_old && each.in_new;
      const bool new_counts = mark(old_store).step >= Step::dual_new;
      Held hold{};
      if (each.in_old)
        hold.in_old = take(old_store, name, !by_both ? "" : new_counts ? "+3" : "+2");
      if (each.in_new) {
        const std::string part = "." + std::to_string(hold.in_old.value);
        hold.in_new = take(new_store, name, !by_both ? "" : (new_counts ? "+3" : "+2") + part);
      }
      const Stamp shown = each.in_new && (!by_both || new_counts) ? hold.in_new : hold.in_old;
      last_ = std::max(last_, shown);
      held_.push_back(hold);
    }
  }

  void end_all_holds() {
    for (const auto& store : {old_store, new_store}) {
      for (const HoldInfo& hold : make_memory_backend(store)->inspect({}, soon()).value().holds) {
        release(store, hold.stamp);
      }
    }
    held_.clear();
  }

  void end_steering_hold() {
    for (const HoldInfo& hold : old_client()->inspect({}, soon()).value().holds) {
      if (hold.items.front().name == "@migrate") release(old_store, hold.stamp);
    }
  }

  // Moves during another one's steps.
  void move_besides(Migration& other, Move move) {
    end_steering_hold();
    static_cast<void>(make(other, move).ok());
    check();
    take_all();
    check();
  }

  // When all have finished, nobody is shut out for good, and stamps have not gone back.
  void check_end() {
    const std::size_t before = held_.size();
    const Stamp last = last_;
    take_all();
    if (held_.size() > before) {
      const Held& fresh = held_.back();
      EXPECT_GT(std::max(fresh.in_old, fresh.in_new), last) << "stamps went back";
    }
    clock.advance(10s);
    end_all_holds();
    Migration one = migration();
    const bool end = mark(new_store).step == Step::done;
    for (int i = 0; i < 8; ++i) {
      const Result<MigrationPhase> done =
          make(one, end ? &Migration::finish : &Migration::roll_back);
      if (!done && done.error().code == Errc::invalid) break;
      ASSERT_TRUE(done.ok()) << done.error().message;
      if (*done == MigrationPhase::finished) break;
    }
    EXPECT_EQ(phase(), end ? MigrationPhase::finished : MigrationPhase::old_only);
  }

  std::vector<Held> held_;
  Stamp last_;

 private:
  int names_ = 0;
};

struct Crossing {
  MigrationPhase from;
  Move mine[2];
  Move theirs[2];
};

constexpr MigrationPhase all_phases[] = {MigrationPhase::old_only, MigrationPhase::shadow,
                                         MigrationPhase::dual_old, MigrationPhase::dual_new,
                                         MigrationPhase::new_only, MigrationPhase::closed};

// There and on, there and back, back and on, back and there; for each of the two.
std::vector<Crossing> cases() {
  std::vector<Crossing> all;
  for (const MigrationPhase from : all_phases) {
    const Move ahead = from == MigrationPhase::old_only ? &Migration::start
                       : from == MigrationPhase::closed ? &Migration::finish
                                                        : &Migration::advance;
    for (const Move mine : {ahead, Move{&Migration::roll_back}}) {
      for (const Move my_next : {Move{&Migration::advance}, Move{&Migration::roll_back}}) {
        for (const Move theirs : {ahead, Move{&Migration::roll_back}}) {
          for (const Move their_next : {Move{&Migration::advance}, Move{&Migration::roll_back}}) {
            all.push_back({from, {mine, my_next}, {theirs, their_next}});
          }
        }
      }
    }
  }
  return all;
}

class TwoMovesEach : public SeveralMoves, public ::testing::WithParamInterface<Crossing> {};

// SEM 21
TEST_P(TwoMovesEach, NeitherSpoilsWhatTheOtherReliesOn) {
  const Crossing& moves = GetParam();
  bool first_reached = true;
  for (int first = 0; first_reached; ++first) {
    first_reached = false;
    bool second_reached = true;
    for (int second = first; second_reached; ++second) {
      SCOPED_TRACE("before the calls " + std::to_string(first) + " and " + std::to_string(second));
      ASSERT_LT(second, 1000);
      begin_anew();
      go_to(moves.from);
      take_all();
      second_reached = false;
      int calls = 0;
      bool inside = false;
      Migration other = migration();
      Migration one = watched([&](bool) -> WatchedBackend::Verdict {
        if (inside) return {};
        inside = true;
        check();
        const int call = calls++;
        if (call == first) {
          first_reached = true;
          move_besides(other, moves.theirs[0]);
        }
        if (call == second) {
          second_reached = true;
          move_besides(other, moves.theirs[1]);
        }
        inside = false;
        return {};
      });
      for (const Move move : moves.mine) {
        static_cast<void>(make(one, move).ok());
        check();
        take_all();
        check();
      }
      check_end();
      if (HasFailure()) return;
    }
  }
}

std::string name_of_moves(const ::testing::TestParamInfo<Crossing>& each) {
  std::string text(to_string(each.param.from));
  std::erase(text, '-');
  const auto add = [&text](const Move(&moves)[2]) {
    for (const Move move : moves) text += move == &Migration::roll_back ? "Back" : "Ahead";
  };
  add(each.param.mine);
  text += "While";
  add(each.param.theirs);
  return text;
}

INSTANTIATE_TEST_SUITE_P(Each, TwoMovesEach, ::testing::ValuesIn(cases()), name_of_moves);

// One looks at the stores while another opens the new one. A third one, who goes back from there,
// has not finished: its last request arrives late.
// SEM 21
TEST_F(SeveralMoves, TheStoresAreSeenAtOneInstant) {
  bool first_reached = true;
  for (int first = 0; first_reached; ++first) {
    first_reached = false;
    bool second_reached = true;
    for (int second = first + 1; second_reached; ++second) {
      SCOPED_TRACE("before the calls " + std::to_string(first) + " and " + std::to_string(second));
      ASSERT_LT(second, 100);
      begin_anew();
      go_to(MigrationPhase::dual_new);
      second_reached = false;
      std::function<void()> late;
      int changes = 0;
      Migration third = watched([&](bool reading) -> WatchedBackend::Verdict {
        if (late) return {Error{Errc::unavailable, "dead"}, false};
        // These are: the hold for steering, the old store's version, the new store's mark.
        if (reading || ++changes != 3) return {};
        return {Error{Errc::indeterminate, "dies"}, false,
                [&](std::function<void()> change) { late = std::move(change); }};
      });
      Migration other = migration();
      int calls = -1;
      bool inside = false;
      Migration one = watched([&](bool) -> WatchedBackend::Verdict {
        if (inside || calls < 0) return {};
        inside = true;
        check();
        const int call = calls++;
        if (call == first) {
          first_reached = true;
          end_steering_hold();
          if (other.advance(soon()).ok()) {
            end_steering_hold();
            static_cast<void>(third.roll_back(soon()).ok());
            end_steering_hold();
          }
        }
        if (call == second) {
          second_reached = true;
          take_all();
          if (late) late();
        }
        check();
        inside = false;
        return {};
      });
      // Both have taken their first look.
      EXPECT_FALSE(one.roll_back(soon()).ok());
      EXPECT_FALSE(other.advance(soon()).ok());
      clock.advance(10s);
      calls = 0;
      static_cast<void>(one.roll_back(soon()).ok());
      check();
      if (HasFailure()) return;
    }
  }
}

// Up to four people, each during the steps of another, at any call, with any move. Some die during
// it, and their last request arrives at any time. SEM 21
class AnybodyAtAnyTime : public SeveralMoves, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(dice_() % n); }

  Move any_move() {
    constexpr Move moves[] = {&Migration::advance, &Migration::roll_back, &Migration::start,
                              &Migration::finish};
    return moves[below(below(4) == 0 ? 4 : 2)];
  }

  void deliver_late() {
    if (late_.empty()) return;
    const auto at = late_.begin() + below(static_cast<std::uint32_t>(late_.size()));
    const std::function<void()> change = std::move(*at);
    late_.erase(at);
    change();
  }

  // Checks around somebody's call.
  void look_on() {
    check();
    if (below(8) == 0) deliver_late();
    if (below(6) == 0) take_all();
    check();
  }

  Migration person() {
    const auto dead = std::make_shared<bool>(false);
    return watched([this, dead](bool reading) -> WatchedBackend::Verdict {
      if (looking_) return {};
      looking_ = true;
      look_on();
      looking_ = false;
      if (*dead) return {Error{Errc::unavailable, "dead"}, false};
      if (below(often_) == 0 && depth_ < 3 && moves_left_ > 0) others_move();
      if (reading || below(40) != 0) return {};
      *dead = true;
      return {Error{Errc::indeterminate, "dies"}, false,
              [this](std::function<void()> change) { late_.push_back(std::move(change)); }};
    });
  }

  void others_move() {
    ++depth_;
    Migration other = person();
    for (std::uint32_t i = below(3) + 1; i > 0; --i) {
      --moves_left_;
      looking_ = true;
      end_steering_hold();
      looking_ = false;
      if (below(6) == 0) {
        static_cast<void>(other.release_new(soon()).ok());
      } else {
        static_cast<void>(make(other, any_move()).ok());
      }
      if (holds_end_ && below(2) == 0) end_all_holds();
    }
    --depth_;
  }

  void run(std::uint32_t seed) {
    dice_.seed(seed);
    late_.clear();
    begin_anew();
    go_to(all_phases[below(std::size(all_phases))]);
    often_ = 4 + below(30);
    holds_end_ = below(3) != 0;
    moves_left_ = 12;
    for (int i = 0; i < 5; ++i) {
      Migration one = person();
      looking_ = true;
      end_steering_hold();
      looking_ = false;
      static_cast<void>(make(one, any_move()).ok());
      static_cast<void>(make(one, any_move()).ok());
      if (holds_end_ && below(2) == 0) end_all_holds();
    }
    while (!late_.empty()) {
      deliver_late();
      check();
    }
    looking_ = true;
    end_steering_hold();
    check_end();
    looking_ = false;
  }

 private:
  std::mt19937 dice_;
  std::vector<std::function<void()>> late_;
  std::uint32_t often_ = 0;
  bool holds_end_ = false;
  int moves_left_ = 0;
  int depth_ = 0;
  bool looking_ = false;
};

TEST_P(AnybodyAtAnyTime, NobodySpoilsWhatAnotherReliesOn) {
  constexpr std::uint32_t runs = 400;
  for (std::uint32_t i = 0; i < runs; ++i) {
    const std::uint32_t seed = GetParam() * runs + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Many, AnybodyAtAnyTime, ::testing::Range(0U, 10U));

}  // namespace
}  // namespace lockset::migration_tests
