// Runs the workloads on the spaces, one after the other, and collects what they measured.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/workloads/workload.h"

namespace lockset::bench {

// The results, as docs/benchmarks.md describes them. A space that can't be reached and a workload
// that fails are told on standard error and among the results; the rest goes on. Ends early,
// with what there is, after an interrupt (tools/interrupt.h).
// `complaints`: of addresses that were left out.
nlohmann::ordered_json conduct(const Plan& plan, std::span<const Target> spaces,
                               std::span<const Workload> chosen,
                               std::span<const std::string> complaints);

}  // namespace lockset::bench
