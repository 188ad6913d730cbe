// A plain connection to a server on the loopback, for what the client library can't say.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::test {

// Sends these bytes; what the server answers until it ends the connection. Throws
// std::runtime_error when it can't be reached, or does not end it for 20 s.
std::string say_to(std::uint16_t port, const std::string& bytes);

}  // namespace lockset::test
