// Spaces of the in-memory store behind a decorator with one flaw.
#pragma once

#include "tests/conformance/broken/flaws.h"
#include "tests/conformance/harness.h"

namespace lockset::broken {

// Makes all_harnesses() of this executable one harness with this flaw. Call it before the tests are
// registered.
void choose_flaw(const Flaw& flaw);

}  // namespace lockset::broken
