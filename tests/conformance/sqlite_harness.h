// Spaces of the SQLite store: a new database file in a folder of its own.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the tables with a handle of its own, past the backend.
Harness& sqlite_harness();

}  // namespace lockset::conformance
