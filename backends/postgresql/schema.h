// `lockset init` for PostgreSQL.
#pragma once

#include <string>

#include "backends/postgresql/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::postgresql {

// Makes the space or upgrades it, in one transaction.
Status init(const Options& options, TimePoint by);

// What init runs, for psql.
std::string init_script(const Options& options);

}  // namespace lockset::postgresql
