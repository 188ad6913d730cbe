// The core on simulated time: docs/testing.md. --mutant NAME makes a deliberate mistake, which has
// to show.
#include "tests/simulation/command.h"
#include "tools/failure.h"

int main(int argc, char** argv) {
  using namespace lockset::simulation;
  return command("lockset_simulation", argc, argv, [](const std::string* mutant) {
    const Flaw flaw = mutant == nullptr ? Flaw::none : flaw_of(*mutant);
    if (mutant != nullptr && flaw == Flaw::none) {
      throw lockset::tools::Failure(lockset::tools::exit_usage, "no such mutant: " + *mutant);
    }
    return Simulation{
        .run = [flaw](std::uint64_t seed,
                      const std::vector<Decision>* only) { return run(seed, only, flaw); },
        .runs = 10'000,
        // A quarter of what usually happens.
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
                   {"rolled_back", 90},
                   {"stores wiped", 16},
                   {"stores restored", 33},
                   {"holds forgotten", 60},
                   {"holds that a restore brought back", 12},
                   {"slow stores", 19},
                   {"stores demoted", 19},
                   {"requests to a demoted store", 560},
                   {"instances that were forgotten", 3},
                   {"forks", 450},
                   {"superseded", 200},
                   {"uses refused", 800},
                   {"wake-ups lost", 180},
                   {"names kept for a waiter", 2700},
                   {"waits judged for overtaking", 2100},
                   {"observations", 2300},
                   {"validations: unchanged", 1150},
                   {"validations: changed", 1600},
                   {"grants on a condition", 550},
                   {"conditions not met", 1050},
                   {"upgrades", 800},
                   {"upgrades refused", 540},
                   {"downgrades", 1150},
                   {"downgrades refused", 280},
                   {"conversions of what was gone", 170}},
        .must_break = broken_by(flaw)};
  });
}
