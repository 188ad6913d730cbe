// Whether a user may run what the scripts call. A script that is refused in its midst is not
// undone, so this is found out before anything is taken.
#pragma once

#include <string>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// Errc::misconfigured, naming the first command that the user may not run on the space's
// keys, or that the server does not have. Changes nothing; one round trip.
Status check_rights(Connection& connection, const Options& options, TimePoint by);

// The script that it runs, for a test that compares it with the others.
std::string rights_script();

}  // namespace lockset::redis
