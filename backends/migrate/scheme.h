// The registry entry of lock spaces that are on the move: "migrate:?from=ADDRESS&to=ADDRESS".
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme migrate_scheme;

}  // namespace lockset
