// Spaces of the Redis store, on one server for all tests of the process. It is a private server, or
// the one that LOCKSET_TEST_REDIS_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the keys over a separate connection, without the backend.
Harness& redis_harness();

}  // namespace lockset::conformance
