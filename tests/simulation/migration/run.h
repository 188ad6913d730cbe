// One migration: two stores, programs that are restarted with other configurations, and people who
// move it on; made from a seed or from a list of decisions. Reports what was wrong.
#pragma once

#include "tests/simulation/migration/setting.h"
#include "tests/simulation/run.h"

namespace lockset::simulation {

// `decisions`: null means everything that the seed decides.
Outcome run_migration(std::uint64_t seed, const std::vector<Decision>* decisions, Mutant mutant);

}  // namespace lockset::simulation
