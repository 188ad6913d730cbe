// Ends the connections of another process's server, from outside: what a server without a
// command for it can't be told to do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockset::test {

// Shuts down every connection that a process of this machine has accepted on this TCP port of
// the loopback: both sides see its end, the server goes on. Their number. Throws
// std::runtime_error where the process may not be looked into (it must be of the same user,
// and its tracing allowed).
std::size_t cut_connections(std::uint16_t server_port);

}  // namespace lockset::test
