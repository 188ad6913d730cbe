// One run: a world made from a seed, or from a list of decisions, and what was wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "history/event.h"
#include "lockset/clock.h"
#include "tests/simulation/flaws.h"
#include "tests/simulation/schedule.h"

namespace lockset::simulation {

struct Outcome {
  struct Violation {
    std::string rule;
    std::string story;
  };
  std::vector<Violation> failures;
  std::vector<Decision> decisions;  // the decisions taken: with only these the run is the same
  history::History history;
  std::map<std::string, std::uint64_t> counts;
  TimePoint ended;
};

// With everything that the seed decides, or with the listed decisions only; the seed still decides
// what kind of run it is.
Outcome run(std::uint64_t seed, const std::vector<Decision>* decisions, Flaw flaw);

// Removes from the decisions of a failed run those that are not needed to break the same rule.
// `rerun` runs with these decisions only. `tries` bounds the work.
using Rerun = std::function<Outcome(const std::vector<Decision>& decisions)>;
Outcome minimise(const Rerun& rerun, Outcome failed, std::size_t tries);

}  // namespace lockset::simulation
