// What users of the server may do. A script that is refused during its run is not undone, so
// missing rights are detected before anything is taken.
#pragma once

#include <string>
#include <string_view>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::redis {

// Errc::misconfigured, with the first command that the user may not run on the space's keys, or
// that the server does not have. Changes nothing; one round trip.
Status check_rights(Connection& connection, const Options& options, TimePoint by);

// The script that check_rights runs, for a test that compares it with the others.
std::string trial_script();

// Whether the user may change the configuration; one round trip, which changes nothing.
Result<bool> is_operator(Connection& connection, const Options& options, TimePoint by);

// A line for redis-cli. Errc::invalid if it can't be a user's name.
Result<std::string> rights_script(const Options& options, Role role, std::string_view user);

// Gives an existing user the role: adds what it needs, and takes away keys of the space that the
// role lacks. Its passwords, and its rights on other keys, stay.
Status allow(const Options& options, Role role, std::string_view user, TimePoint by);

}  // namespace lockset::redis
