// Ends the connections of another process's server from outside, for servers without a command for
// it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockset::test {

// Shuts down every connection that a process of this machine has accepted on this TCP port of the
// loopback: both sides see the end, and the server continues. Returns their number. Throws
// std::runtime_error if this process may not look into the server's (it must be of the same user,
// and allow tracing).
std::size_t cut_connections(std::uint16_t server_port);

}  // namespace lockset::test
