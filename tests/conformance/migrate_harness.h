// The migrate backend in each phase of a migration between two spaces that belong to one test.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// Between two memory spaces.
Harness& migrate_old_only_harness();
Harness& migrate_dual_old_harness();
Harness& migrate_dual_new_harness();
Harness& migrate_new_only_harness();
#ifdef LOCKSET_HAS_SQLITE
// Between two files, opened by address, also from other processes.
Harness& migrate_files_harness();
#endif

}  // namespace lockset::conformance
