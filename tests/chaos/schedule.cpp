#include "tests/chaos/schedule.h"

#include <algorithm>
#include <utility>

#include "tests/chaos/stores/dice.h"

namespace lockset::chaos {

std::size_t Deck::deal(Dice& dice) {
  if (cards_.empty()) {
    for (std::size_t i = 0; i < size_; ++i) cards_.push_back(i);
    // Not std::shuffle: its order differs between libraries.
    for (std::size_t i = size_; i > 1; --i) std::swap(cards_[i - 1], cards_[dice() % i]);
  }
  const std::size_t card = cards_.back();
  cards_.pop_back();
  return card;
}

ProcessSchedule::ProcessSchedule(std::uint64_t seed, std::size_t processes, Duration lease,
                                 Duration longest_pause, bool kills, bool stops)
    : dice_(seed),
      processes_(processes),
      lease_(lease),
      longest_pause_(longest_pause),
      kills_(kills),
      stops_(stops) {}

ProcessSchedule::Step ProcessSchedule::next() {
  Step step;
  step.pause = time_between(dice_, longest_pause_ / 10, longest_pause_);
  step.kill = kills_ && (!stops_ || dice_() % 2 == 0);
  step.victim = dice_() % processes_;
  // Long enough that the lease ends meanwhile, however much of it was left.
  step.stopped = time_between(dice_, lease_ * 3 / 2, lease_ * 3);
  return step;
}

StoreSchedule::StoreSchedule(std::uint64_t seed, std::vector<Shape> faults, Duration longest_calm)
    : dice_(seed), faults_(std::move(faults)), longest_calm_(longest_calm), deck_(faults_.size()) {}

StoreSchedule::One StoreSchedule::one(std::size_t fault) {
  const Shape& shape = faults_.at(fault);
  return {fault, time_between(dice_, shape.shortest, shape.longest), dice_()};
}

StoreSchedule::Round StoreSchedule::next() {
  Round round;
  round.calm = time_between(dice_, longest_calm_ / 4, longest_calm_);
  round.first = one(deck_.deal(dice_));
  if (dice_() % 3 != 0) return round;
  const Shape& shape = faults_[round.first.fault];
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (i == round.first.fault) continue;
    if (faults_[i].group.empty() || faults_[i].group != shape.group) others.push_back(i);
  }
  if (others.empty()) return round;
  round.second = one(others[dice_() % others.size()]);
  round.second_after = time_between(dice_, Duration::zero(), round.first.lasts);
  return round;
}

}  // namespace lockset::chaos
