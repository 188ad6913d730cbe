// Which faults happen, and when: the seed alone decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// Deals 0 to size - 1 in random order, again and again: each comes up about equally often, even in
// a short run.
class Deck {
 public:
  explicit Deck(std::size_t size) : size_(size) {}
  std::size_t deal(Dice& dice);

 private:
  std::size_t size_;
  std::vector<std::size_t> cards_;
};

// Kills and stops of processes, with time in between so that the processes make progress.
class ProcessSchedule {
 public:
  struct Step {
    Duration pause{};  // after the step before
    bool kill = false;
    std::size_t victim = 0;
    Duration stopped{};  // of a stop: how long
  };
  // The shortest pause is a tenth of `longest_pause`. REQUIRES: kills or stops.
  ProcessSchedule(std::uint64_t seed, std::size_t processes, Duration lease, Duration longest_pause,
                  bool kills, bool stops);
  Step next();

 private:
  Dice dice_;
  std::size_t processes_;
  Duration lease_;
  Duration longest_pause_;
  bool kills_;
  bool stops_;
};

// The store's faults: one at a time, sometimes two, with calm in between.
class StoreSchedule {
 public:
  struct Shape {  // describes an existing fault
    Duration shortest{};
    Duration longest{};
    std::string group;  // two of the same group never overlap, unless it is ""
  };
  struct One {
    std::size_t fault = 0;
    Duration lasts{};
    std::uint64_t seed = 0;  // for its details
  };
  struct Round {
    Duration calm{};  // before it
    One first;
    std::optional<One> second;
    Duration second_after{};  // begins this long after the first, before the first ends
  };
  // REQUIRES: at least one fault.
  StoreSchedule(std::uint64_t seed, std::vector<Shape> faults, Duration longest_calm);
  Round next();

 private:
  One one(std::size_t fault);

  Dice dice_;
  std::vector<Shape> faults_;
  Duration longest_calm_;
  Deck deck_;
};

}  // namespace lockset::chaos
