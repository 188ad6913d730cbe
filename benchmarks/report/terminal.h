// The results as tables for a terminal, at most 100 columns wide.
#pragma once

#include <string>

#include "benchmarks/report/results.h"

namespace lockset::bench {

// Throws as read_results does.
std::string terminal_report(const Json& results);

}  // namespace lockset::bench
