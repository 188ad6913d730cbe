// Passes the settings of the address to the client library.
#pragma once

#include <memory>

#include "backends/mysql/address.h"
#include "lockset/clock.h"

namespace sql {
class Connection;
}

namespace lockset::mysql {

// Call it before each use: the client library has to know every thread that uses it. Harmless to
// repeat.
void use_thread();

// The first statement of a connection: everything that a statement relies on, but the isolation
// level.
[[nodiscard]] const char* session_settings();

[[nodiscard]] bool may_encrypt(const Options& options);

// Whether the client library compares the server's name with its certificate in this mode. True for
// verify_ca, too, if the library can't verify the authority without that.
[[nodiscard]] bool checks_host_name(SslMode mode);

// Ends at `by`, rounded up to whole seconds. REQUIRES: use_thread().
// Throws sql::SQLException.
std::unique_ptr<sql::Connection> connect_natively(const Options& options, TimePoint by);

}  // namespace lockset::mysql
