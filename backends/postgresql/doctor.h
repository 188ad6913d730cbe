// `lockset doctor` for PostgreSQL.
#pragma once

#include <vector>

#include "backends/postgresql/address.h"
#include "lockset/clock.h"
#include "lockset/registry.h"

namespace lockset::postgresql {

// Uses one connection and changes nothing. An error only if there is no connection.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::postgresql
