// A plain connection to a server on the loopback, for requests that the client library can't make.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::test {

// Sends these bytes; returns the server's answer until it ends the connection. Throws
// std::runtime_error if it can't be reached, or does not end the connection within 20 s.
std::string say_to(std::uint16_t port, const std::string& bytes);

}  // namespace lockset::test
