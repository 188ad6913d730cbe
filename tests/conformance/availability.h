// Which stores must be there: memory, SQLite and whatever LOCKSET_TEST_REQUIRE
// names ("all", or harness names with commas between).
#pragma once

#include <optional>
#include <string>

#include "tests/conformance/harness.h"

namespace lockset::conformance {

struct Availability {
  std::optional<std::string> unavailable;  // why
  bool required = false;
};

// The answer is kept for the rest of the run.
const Availability& availability(Harness& harness);

}  // namespace lockset::conformance
