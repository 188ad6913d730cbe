// The registry entry of the memory backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

// "memory:" opens a space of its own each time; threads share it through one Locks.
extern const Scheme memory_scheme;

}  // namespace lockset
