// Checks a server's settings, and the connection to it.
#pragma once

#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::mysql {

// For `lockset doctor`: everything that is worth a line.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

// The part of examine() that needs no lock space.
Result<std::vector<Finding>> examine_server(Connection& connection, const Options& options,
                                            TimePoint by);

// For each connection of an open store; two round trips. Errc::unavailable if the server is not the
// writable one. True if fewer than an eighth of its connections are left: a waiter keeps its
// connection for as long as it waits, and that many remain for the short calls that end the wait.
Result<bool> is_crowded(Connection& connection, const Options& options, TimePoint by);

// For open: Errc::misconfigured, with the remedy, for what examine_server() rates unsafe.
Status refuse_unsafe(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
