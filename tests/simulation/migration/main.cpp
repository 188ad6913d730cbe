// Migrations on simulated time: docs/testing.md. --mutant NAME makes a deliberate mistake, which
// has to show.
#include "tests/simulation/command.h"
#include "tests/simulation/migration/run.h"
#include "tools/failure.h"

int main(int argc, char** argv) {
  using namespace lockset::simulation;
  return command("lockset_migration_simulation", argc, argv, [](const std::string* mutant) {
    const Mutant mistake = mutant == nullptr ? Mutant::none : mutant_of(*mutant);
    if (mutant != nullptr && mistake == Mutant::none) {
      throw lockset::tools::Failure(lockset::tools::exit_usage, "no such mutant: " + *mutant);
    }
    return Simulation{
        .run =
            [mistake](std::uint64_t seed, const std::vector<Decision>* decisions) {
              return run_migration(seed, decisions, mistake);
            },
        .runs = 2'000,
        // A quarter of what usually happens.
        .enough = {{"grants", 14'000},
                   {"overlaps", 34'000},
                   {"lives: old", 2'000},
                   {"lives: migrate", 4'800},
                   {"lives: new", 500},
                   {"refused old: misconfigured", 2'000},
                   {"refused new: misconfigured", 3'200},
                   {"refused old: unavailable", 80},
                   {"refused migrate: unavailable", 80},
                   {"steps of a migration", 2'200},
                   {"forward", 590},
                   {"back", 370},
                   {"phase reached: dual-old", 170},
                   {"phase reached: dual-new", 50},
                   {"phase reached: new-only", 40},
                   {"migrations brought to: finished", 160},
                   {"migrations brought to: old-only", 80},
                   {"requests that came when nobody waited", 7'000},
                   {"crashes", 780},
                   {"pauses", 970},
                   {"doubts resolved to a grant", 570},
                   {"observations", 4'800},
                   {"validations: unchanged", 2'100},
                   {"grants on a condition", 900}},
        .must_break = broken_by(mistake),
    };
  });
}
