// The one list of harnesses. A new backend: one line here, one in
// backends/builtin.cpp, one in backends/CMakeLists.txt.
#include "tests/conformance/harness.h"
#include "tests/conformance/memory_harness.h"
#ifdef LOCKSET_HAS_SQLITE
#include "tests/conformance/sqlite_harness.h"
#endif

namespace lockset::conformance {

std::span<Harness* const> all_harnesses() {
  static Harness* const harnesses[] = {
      &memory_harness(),
#ifdef LOCKSET_HAS_SQLITE
      &sqlite_harness(),
#endif
  };
  return harnesses;
}

}  // namespace lockset::conformance
