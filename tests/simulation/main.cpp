// The core on simulated time: docs/testing.md.
#include "tests/simulation/command.h"

int main(int argc, char** argv) {
  using namespace lockset::simulation;
  const Simulation simulation{.name = "lockset_simulation",
                              .run =
                                  [](std::uint64_t seed, const std::vector<Decision>* decisions) {
                                    return decisions == nullptr ? run(seed) : run(seed, *decisions);
                                  },
                              .runs = 10'000,
                              // A quarter of what does happen.
                              .enough = {{"grants", 5000},
                                         {"overlaps", 9000},
                                         {"busy", 1400},
                                         {"attempts in doubt", 1600},
                                         {"doubts resolved to a grant", 180},
                                         {"requests that came when nobody waited", 1400},
                                         {"requests repeated", 800},
                                         {"replies lost", 1200},
                                         {"renewals", 8000},
                                         {"holders told of a loss", 400},
                                         {"releases in doubt", 250},
                                         {"stale answers", 1000},
                                         {"crashes", 120},
                                         {"pauses", 300},
                                         {"restarts", 80},
                                         {"clock jumps", 350},
                                         {"broken", 180},
                                         {"rolled_back", 150},
                                         {"superseded", 200},
                                         {"uses refused", 800},
                                         {"wake-ups lost", 180}},
                              .must_break = {}};
  return command(simulation, argc, argv);
}
