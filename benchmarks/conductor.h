// Runs the workloads on the spaces, one after the other, and collects their measurements.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/workloads/workload.h"

namespace lockset::bench {

// The results, as docs/benchmarks.md describes them. An unreachable space or a failing workload is
// reported on standard error and in the results; the rest continues. Ends early, with the results
// so far, after an interrupt (tools/interrupt.h). `complaints`: about addresses that were left out.
nlohmann::ordered_json conduct(const Plan& plan, std::span<const Target> spaces,
                               std::span<const Workload> chosen,
                               std::span<const std::string> complaints);

}  // namespace lockset::bench
