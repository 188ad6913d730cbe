// The results as one HTML page with charts, which needs nothing besides.
#pragma once

#include <string>

#include "benchmarks/report/results.h"

namespace lockset::bench {

// Throws as read_results.
std::string page(const Json& results);

}  // namespace lockset::bench
