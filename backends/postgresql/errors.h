// The only place that maps PostgreSQL's error codes (SQLSTATE) to Lockset's.
#pragma once

#include <string>
#include <string_view>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::postgresql {

// The statement ended in a rollback and may succeed if it is repeated: serialization failures,
// deadlocks, and locks that somebody kept for too long.
bool worth_repeating(std::string_view sqlstate) noexcept;

// Only a primary can do this, and the server is none, or accepts no writes.
inline constexpr std::string_view sqlstate_read_only = "25006";
// A name has no row yet (strategy=serializable).
inline constexpr std::string_view sqlstate_unknown_name = "LS003";

// The server refused something. `sqlstate` is "" if there is none: the connection broke. `said` is
// the message of libpq or the server; `where` names the store, for people.
Error error_from(std::string_view sqlstate, std::string_view said, const std::string& where,
                 Sent sent);

// Some of the space's rows are missing; `shown` names the store, for people.
Error is_incomplete(const std::string& shown);

}  // namespace lockset::postgresql
