// Deliberate mistakes of a store about upgrades and downgrades.
#pragma once

#include <memory>

#include "lockset/backend.h"
#include "tests/simulation/flaws.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

// The store with the effect of this flaw, if it is one of these.
std::unique_ptr<Backend> with_convert_flaw(Flaw flaw, std::unique_ptr<Backend> sound, World& world);

}  // namespace lockset::simulation
