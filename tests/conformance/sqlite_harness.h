// Spaces of the SQLite store: a new database file in a separate folder.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the tables through a separate handle, without the backend.
Harness& sqlite_harness();

}  // namespace lockset::conformance
