// Migrations on simulated time: docs/testing.md. --mutant NAME makes a deliberate mistake, which
// has to show.
#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/simulation/command.h"
#include "tests/simulation/migration/run.h"

int main(int argc, char** argv) {
  using namespace lockset::simulation;
  Mutant mutant = Mutant::none;
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--mutant" || i + 1 == argc) {
      others.push_back(argv[i]);
      continue;
    }
    mutant = mutant_of(argv[++i]);
    if (mutant != Mutant::none) continue;
    std::fprintf(stderr, "no such mutant: %s\n", argv[i]);
    return 64;
  }
  const Simulation simulation{
      .name = "lockset_migration_simulation",
      .run =
          [mutant](std::uint64_t seed, const std::vector<Decision>* decisions) {
            return run_migration(seed, decisions, mutant);
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
                 {"doubts resolved to a grant", 570}},
      .must_break = broken_by(mutant),
  };
  return command(simulation, static_cast<int>(others.size()), others.data());
}
