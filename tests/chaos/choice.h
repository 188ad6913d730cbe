// Chooses which of a store's faults a run gives.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/chaos/options.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// Returns indices into `faults`. Leaves out faults that take more than a quarter of the run, unless
// --faults names them. Throws tools::Failure(exit_usage) if a part of --faults names no existing
// fault.
std::vector<std::size_t> choose_faults(const Options& options, const std::vector<Fault>& faults);

}  // namespace lockset::chaos
