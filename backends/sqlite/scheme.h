// The registry entry of the SQLite backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme sqlite_scheme;

}  // namespace lockset
