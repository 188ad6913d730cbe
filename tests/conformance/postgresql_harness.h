// Spaces of the PostgreSQL store: a schema of its own on one server for all tests of the
// process: a private one, or the one that LOCKSET_TEST_POSTGRESQL_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the tables over a connection of its own, past the backend.
Harness& postgresql_advisory_harness();
Harness& postgresql_serializable_harness();

}  // namespace lockset::conformance
