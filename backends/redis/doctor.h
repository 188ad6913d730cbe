// Checks a server's settings, and the connection to it.
#pragma once

#include <string_view>
#include <vector>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::redis {

// For every connection: Errc::misconfigured, with the remedy, for a setting that breaks a promise,
// and Errc::unavailable for a server that is not ready. `info` is the answer to INFO; `no_primary`:
// as in errors.h.
Status refuse_unsafe(std::string_view info, const Options& options,
                     Errc no_primary = Errc::misconfigured);

// For `lockset doctor`: everything that is worth a line.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::redis
