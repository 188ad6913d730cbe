// The number of tests that each harness must run: a test that vanished (a file
// that is no longer linked, a trait that turned off) would otherwise go unseen.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/report.h"

namespace lockset::conformance {

// Compares `report` with the file ("memory 120" per line; # begins a comment) for
// the harnesses of which `filter` (GoogleTest's) selects all tests: "*" or
// "*/memory". One line per mismatch, saying what to do.
std::vector<std::string> count_mismatches(const Report& report, const std::string& filter,
                                          const std::string& file);

}  // namespace lockset::conformance
