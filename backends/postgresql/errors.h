// The one place where PostgreSQL's error codes (SQLSTATE) become Lockset's.
#pragma once

#include <string>
#include <string_view>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::postgresql {

// Ends in a rollback that the same statement need not meet again: serialization failures,
// deadlocks, and locks that somebody kept for too long.
bool worth_repeating(std::string_view sqlstate) noexcept;

// Only a primary can do this, and the server is none, or takes no writes.
inline constexpr std::string_view sqlstate_read_only = "25006";
// A name has no row yet (strategy=serializable).
inline constexpr std::string_view sqlstate_unknown_name = "LS003";

// The server refused something. `sqlstate` is "" where there is none: a connection that
// broke. `said` is what libpq or the server said; `where` names the store, for people.
Error error_from(std::string_view sqlstate, std::string_view said, const std::string& where,
                 Sent sent);

// The space's rows are not all there; `shown` names the store, for people.
Error is_incomplete(const std::string& shown);

}  // namespace lockset::postgresql
