// Which of a store's faults a run gives.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/chaos/options.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// By index into `faults`; without those that take more of the run than a quarter, unless they are
// asked for by name. Throws tools::Failure(exit_usage) if a part of --faults names nothing
// that there is.
std::vector<std::size_t> choose_faults(const Options& options, const std::vector<Fault>& faults);

}  // namespace lockset::chaos
