// `lockset init`.
#pragma once

#include "backends/memcached/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::memcached {

// Makes the space, if it is missing. Nobody can tell a new space from one that the server has
// forgotten, so it begins with a quarantine, unless the address says that it is the first one.
Status init(const Options& options, TimePoint by);

}  // namespace lockset::memcached
