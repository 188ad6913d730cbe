// Spaces of the in-memory store.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() is an inspect() by a client of its own: the store shows nothing else.
Harness& memory_harness();

// inspect() in the form of a look.
std::vector<RawHold> look_by_inspecting(Backend& backend);

}  // namespace lockset::conformance
