// Whether the server is fit for locks, for `lockset doctor`.
#pragma once

#include <vector>

#include "backends/memcached/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::memcached {

Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::memcached
