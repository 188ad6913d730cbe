// The number of tests that each harness must run. Otherwise nobody would notice a test that
// vanished (its file is no longer linked, or a trait turned off).
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/report.h"

namespace lockset::conformance {

// Compares `report` with the file ("memory 120" per line; # begins a comment), for the harnesses
// whose tests are all selected by `filter` (GoogleTest's): "*" or "*/memory". One line per
// mismatch, with what to do.
std::vector<std::string> count_mismatches(const Report& report, const std::string& filter,
                                          const std::string& file);

}  // namespace lockset::conformance
