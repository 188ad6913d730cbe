// One migration: two stores, programs that are restarted with other configurations, and those who
// move it on; made from a seed or from a list of decisions. And what was wrong with it.
#pragma once

#include "tests/simulation/migration/setting.h"
#include "tests/simulation/run.h"

namespace lockset::simulation {

// `decisions`: null for all that the seed decides.
Outcome run_migration(std::uint64_t seed, const std::vector<Decision>* decisions, Mutant mutant);

}  // namespace lockset::simulation
