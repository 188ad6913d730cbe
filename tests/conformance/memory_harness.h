// Spaces of the in-memory store.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() is an inspect() by a separate client: the store shows nothing else.
Harness& memory_harness();

// inspect() in the form of look().
std::vector<RawHold> look_by_inspecting(Backend& backend);

}  // namespace lockset::conformance
