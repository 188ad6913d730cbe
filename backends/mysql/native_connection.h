// The client library: how it is told what the address says.
#pragma once

#include <memory>

#include "backends/mysql/address.h"
#include "lockset/clock.h"

namespace sql {
class Connection;
}

namespace lockset::mysql {

// The client library wants to know of every thread that uses it: before each use. Harmless
// to repeat.
void use_thread();

[[nodiscard]] bool may_encrypt(const Options& options);

// Whether the client library compares the server's name with its certificate in this mode. In
// verify_ca too where it can't verify who signed without it.
[[nodiscard]] bool checks_host_name(SslMode mode);

// Ends at `by`, rounded up to whole seconds. REQUIRES: use_thread().
// Throws sql::SQLException.
std::unique_ptr<sql::Connection> connect_natively(const Options& options, TimePoint by);

}  // namespace lockset::mysql
