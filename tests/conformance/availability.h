// The stores that must be available: memory, SQLite, and those named in LOCKSET_TEST_REQUIRE
// ("all", or harness names with commas between).
#pragma once

#include <optional>
#include <string>

#include "tests/conformance/harness.h"

namespace lockset::conformance {

struct Availability {
  std::optional<std::string> unavailable;  // the reason, if it is not available
  bool required = false;
};

// The answer is kept for the rest of the run.
const Availability& availability(Harness& harness);

}  // namespace lockset::conformance
