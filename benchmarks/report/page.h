// The results as one HTML page with charts and without dependencies.
#pragma once

#include <string>

#include "benchmarks/report/results.h"

namespace lockset::bench {

// Throws as read_results does.
std::string page(const Json& results);

}  // namespace lockset::bench
