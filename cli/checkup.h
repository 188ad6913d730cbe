// What the calls that every program makes show about an open store.
#pragma once

#include <vector>

#include "lockset/backend.h"
#include "lockset/registry.h"

namespace lockset::cli {

// Adds what it found to `findings`. Changes nothing in the store. Takes about a quarter of a
// second, plus at most `io_timeout` per call. Stops at the first call that fails.
Status check_up(Backend& backend, Duration io_timeout, std::vector<Finding>& findings);

}  // namespace lockset::cli
