// The program around a simulation: runs seeds, and shows what is wrong with the first one that
// breaks a promise (docs/testing.md).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/run.h"

namespace lockset::simulation {

struct Simulation {
  // With everything that the seed decides, or with the listed decisions only.
  std::function<Outcome(std::uint64_t seed, const std::vector<Decision>* decisions)> run;
  std::uint64_t runs = 0;  // the default
  // What has to happen in 1000 runs at least; otherwise they show nothing.
  std::vector<std::pair<std::string, std::uint64_t>> enough;
  // Not empty: there is a deliberate mistake, and one of these promises has to be broken.
  std::set<std::string> must_break;
};

// With this deliberate mistake; nullptr: with none. Throws a tools::Failure if there is no such.
using Make = std::function<Simulation(const std::string* mutant)>;

// The program's exit status.
int command(const std::string& program, int argc, char** argv, const Make& make);

}  // namespace lockset::simulation
