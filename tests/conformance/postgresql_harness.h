// Spaces of the PostgreSQL store: separate schemas on one server for all tests of the process. It
// is a private server, or the one that LOCKSET_TEST_POSTGRESQL_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the tables over a separate connection, without the backend.
Harness& postgresql_advisory_harness();
Harness& postgresql_serializable_harness();
// look() asks a separate client: no table has the holds.
Harness& postgresql_session_harness();

}  // namespace lockset::conformance
