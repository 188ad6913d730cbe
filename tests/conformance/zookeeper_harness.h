// Spaces of the ZooKeeper store: separate paths on one server for all tests of the process. It is a
// private server, or the one that LOCKSET_TEST_ZOOKEEPER_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the nodes over a separate session, without the backend. Many conformance tests use
// leases of some milliseconds, and no server has such sessions: so the spaces are opened with
// short_leases=on (docs/backends/zookeeper.md). tests/zookeeper tests the rest.
Harness& zookeeper_harness();

}  // namespace lockset::conformance
