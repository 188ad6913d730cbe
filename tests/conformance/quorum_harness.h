// Quorums of three: of spaces in memory, of files, of Redis servers, and of one of each kind.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

Harness& quorum_memory_harness();
Harness& quorum_files_harness();
Harness& quorum_redis_harness();
// A file, Redis and PostgreSQL.
Harness& quorum_mixed_harness();

}  // namespace lockset::conformance
