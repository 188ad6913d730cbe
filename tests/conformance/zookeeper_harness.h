// Spaces of the ZooKeeper store: a path of its own on one server for all tests of the
// process: a private one, or the one that LOCKSET_TEST_ZOOKEEPER_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the nodes over a session of its own, past the backend. Many conformance tests
// use leases of some milliseconds, for which no server has sessions: the spaces are opened
// with short_leases=on (docs/backends/zookeeper.md). tests/zookeeper looks at the rest.
Harness& zookeeper_harness();

}  // namespace lockset::conformance
