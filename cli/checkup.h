// What an open store shows of itself through the calls that every program makes of it.
#pragma once

#include <vector>

#include "lockset/backend.h"
#include "lockset/registry.h"

namespace lockset::cli {

// Adds what it found to `findings`. Changes nothing in the store; takes about a quarter of a
// second, and each call `io_timeout` at most. The first call that fails ends it.
Status check_up(Backend& backend, Duration io_timeout, std::vector<Finding>& findings);

}  // namespace lockset::cli
