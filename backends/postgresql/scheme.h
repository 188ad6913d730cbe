// The registry entry of the PostgreSQL backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme postgresql_scheme;

}  // namespace lockset
