// The program around a simulation: runs seeds, and shows what is wrong with the first that breaks a
// promise (docs/testing.md).
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
  std::string name;  // of the program
  // With all that the seed decides, or with the listed decisions alone.
  std::function<Outcome(std::uint64_t seed, const std::vector<Decision>* decisions)> run;
  std::uint64_t runs = 0;  // unless said otherwise
  // What has to happen in 1000 runs at least, or they show nothing.
  std::vector<std::pair<std::string, std::uint64_t>> enough;
  // Not empty: something was done wrong on purpose, and one of these has to be broken.
  std::set<std::string> must_break;
};

// The program's exit status.
int command(const Simulation& simulation, int argc, char** argv);

}  // namespace lockset::simulation
