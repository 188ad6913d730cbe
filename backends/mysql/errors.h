// The only place that maps MySQL's and MariaDB's error numbers to Lockset's.
#pragma once

#include <string>
#include <string_view>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::mysql {

// The error of a call that was ended by KILL QUERY.
inline constexpr int code_of_interruption = 1317;

// The call ended in a rollback and may succeed if it is repeated: deadlocks, duplicate keys, rows
// that somebody kept locked for too long.
bool worth_repeating(int code) noexcept;

// The connection is useless now.
bool breaks_connection(int code) noexcept;

// The session is over, with everything that it holds (strategy=session). A statement that failed
// alone does not end it.
bool ends_session(int code) noexcept;

// For a server that does not encrypt although ssl_mode asks for it.
Error not_encrypted(const std::string& where);

// The server is not writable: it is a replica, or was demoted.
bool takes_no_writes(int code) noexcept;

// `code` is the server's or the client library's number, 0 if there is none; `said` is its message;
// `where` names the store, for people.
Error error_from(int code, std::string_view said, const std::string& where, Sent sent);

}  // namespace lockset::mysql
