// Checks a server's settings, and the connection to it.
#pragma once

#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::mysql {

// For `lockset doctor`: everything worth a line.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

// The part of it that is known without a lock space.
Result<std::vector<Finding>> examine_server(Connection& connection, const Options& options,
                                            TimePoint by);

// For each connection of an open store, two round trips. Errc::unavailable if the server is not the
// one that is written to. True if fewer than an eighth of its connections are left: what waits
// keeps one for as long as it takes, and that many stay for those who come and go and make its
// waiting end.
Result<bool> is_crowded(Connection& connection, const Options& options, TimePoint by);

// For open: Errc::misconfigured, with the remedy, for what examine_server() rates unsafe.
Status refuse_unsafe(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
