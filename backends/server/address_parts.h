// The parts that the addresses of all networked stores have. Every function answers with
// Errc::invalid and what to write instead, if nothing else is said.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::connections {

Error invalid(std::string text);

// True if the whole text is a decimal number from `least` to `most`.
template <class Number>
bool parse_number(std::string_view text, Number least, Number most, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= most;
}

// space=NAME, a word that every store can use in the names of its own things.
Status read_space(std::string& space, const std::string& value);
// pool=NUMBER of connections.
Status read_pool(std::size_t& pool, const std::string& value);
// A duration from `least` to an hour.
Status read_duration(Duration& option, Duration least, const std::string& key,
                     const std::string& value);
Status read_connect_timeout(Duration& timeout, const std::string& value);
// on or off.
Status read_switch(bool& option, const std::string& key, const std::string& value);
// The first line of the file. Errc::misconfigured if it can't be read.
Status read_password_file(std::string& password, const std::string& path);

struct HostPort {
  std::string host;  // "" if there is none; without the brackets of an IPv6 address
  std::optional<std::uint16_t> port;
};

// "host", "host:port", "[::1]:port", ":port".
Result<HostPort> read_host(std::string_view text);
// The server of a store with a single writable server. Parts that the address omits stay unchanged.
Status read_one_host(std::string& host, std::uint16_t& port, const Url& url);
// "host:port", with brackets where the host is an IPv6 address.
std::string show_host(const std::string& host, std::uint16_t port);

}  // namespace lockset::connections
