// The registry entry of the Redis backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme redis_scheme;

}  // namespace lockset
