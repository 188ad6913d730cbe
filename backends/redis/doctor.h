// Looks at a server's settings, and at what stands between it and us.
#pragma once

#include <string_view>
#include <vector>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::redis {

// For every connection: Errc::misconfigured, with the remedy, for what breaks a promise, and
// Errc::unavailable for a server that is not ready. `info` is what INFO says; `no_primary`: as in
// errors.h.
Status refuse_unsafe(std::string_view info, const Options& options,
                     Errc no_primary = Errc::misconfigured);

// For `lockset doctor`: everything worth a line.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::redis
