// The parts that the addresses of several networked stores have, except parameters
// (backends/parameters.h). Every function reports errors as Errc::invalid, and says what to write
// instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::addresses {

struct HostPort {
  std::string host;  // "" if there is none; without the brackets of an IPv6 address
  std::optional<std::uint16_t> port;
};

// "host", "host:port", "[::1]:port", ":port".
Result<HostPort> read_host(std::string_view text);
// The server of a store with a single writable server. Parts that the address omits stay unchanged.
Status read_one_host(std::string& host, std::uint16_t& port, const Url& url);
// "host:port", with brackets if the host is an IPv6 address.
std::string show_host(const std::string& host, std::uint16_t port);
// Checks that the address names a server, as the example does.
Status check_authority(const Url& url, std::string_view example);

// Takes the password from the environment if the address has none and names no file with one.
void add_password(std::string& password, const Url& url, const char* variable);
// Checks that a user has a password; `variable` as above.
Status check_password(const std::string& user, const std::string& password,
                      std::string_view variable);
// Checks that a client's certificate comes with its key.
Status check_certificate(const std::string& ssl_cert, const std::string& ssl_key);

}  // namespace lockset::addresses
