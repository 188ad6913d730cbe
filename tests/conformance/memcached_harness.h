// Spaces of the memcached store, on one private server for all tests of the process, behind a proxy
// that ends connections: the server can't be told to.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() is an inspect() by another client.
Harness& memcached_harness();

}  // namespace lockset::conformance
