// One run: a world made from a seed, or from a list of decisions, and what was wrong with it.
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
  struct Failure {
    std::string rule;
    std::string story;
  };
  std::vector<Failure> failures;
  std::vector<Decision> decisions;  // that were taken: with them alone the run is the same
  history::History history;
  std::map<std::string, std::uint64_t> counts;
  TimePoint ended;
};

// With all that the seed decides, or with the listed decisions alone; the seed still says what kind
// of run it is.
Outcome run(std::uint64_t seed, const std::vector<Decision>* decisions, Flaw flaw);

// Leaves out of the decisions of a failed run what it does not need to break the same rule.
// `rerun`: with these decisions alone. `tries` bounds the work.
using Rerun = std::function<Outcome(const std::vector<Decision>& decisions)>;
Outcome minimise(const Rerun& rerun, Outcome failed, std::size_t tries);

}  // namespace lockset::simulation
