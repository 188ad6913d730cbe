#include "backends/server/address_parts.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "lockset/lock_set.h"

namespace lockset::connections {

Error invalid(std::string text) { return Error{Errc::invalid, std::move(text)}; }

Status read_space(std::string& space, const std::string& value) {
  const bool simple = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (value.empty() || value.size() > 32 || !simple) {
    return invalid("space must be 1 to 32 of a-z, 0-9 and _, not " + in_quotes(value));
  }
  space = value;
  return {};
}

Status read_pool(std::size_t& pool, const std::string& value) {
  if (parse_number<std::size_t>(value, 1, 1000, pool)) return {};
  return invalid("pool must be 1 to 1000, not " + in_quotes(value));
}

Status read_duration(Duration& option, Duration least, const std::string& key,
                     const std::string& value) {
  const Result<Duration> duration = parse_duration(value);
  if (!duration || *duration < least || *duration > std::chrono::hours(1)) {
    return invalid(key + " must be " + format_duration(least) + " to 1h, not " + in_quotes(value));
  }
  option = *duration;
  return {};
}

Status read_connect_timeout(Duration& timeout, const std::string& value) {
  return read_duration(timeout, std::chrono::milliseconds(100), "connect_timeout", value);
}

Status read_switch(bool& option, const std::string& key, const std::string& value) {
  if (value != "on" && value != "off") {
    return invalid(key + " is on or off, not " + in_quotes(value));
  }
  option = value == "on";
  return {};
}

Status read_password_file(std::string& password, const std::string& path) {
  std::ifstream file(path);
  if (!file || !std::getline(file, password)) {
    return Error{Errc::misconfigured,
                 "the password_file " + in_quotes(path) +
                     " can't be read: it holds the password in its first line"};
  }
  if (password.ends_with('\r')) password.pop_back();
  return {};
}

Result<HostPort> read_host(std::string_view text) {
  std::string_view host = text;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) {
      return invalid("no ] behind " + in_quotes(text) + ": write [::1] or [::1]:PORT");
    }
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
    if (port.find(':', 1) != std::string_view::npos) {
      return invalid("two colons in " + in_quotes(text) +
                     ": write HOST:PORT, and an IPv6 address in brackets: [::1]:PORT");
    }
  }
  const bool plain = std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7F && c != '[' && c != ']';
  });
  if (!plain) return invalid("no name of a host: " + in_quotes(host));
  HostPort result{std::string(host), {}};
  if (port.empty()) return result;
  std::uint16_t number = 0;
  if (port.front() != ':' || !parse_number<std::uint16_t>(port.substr(1), 1, 65535, number)) {
    return invalid("the port in " + in_quotes(text) + " must be 1 to 65535");
  }
  result.port = number;
  return result;
}

Status read_one_host(std::string& host, std::uint16_t& port, const Url& url) {
  if (url.hosts.find(',') != std::string::npos) {
    return invalid("a " + url.scheme + ": address names one server, not " + in_quotes(url.hosts) +
                   ": locks live on one that writes; put a failover name or proxy there");
  }
  const Result<HostPort> read = read_host(url.hosts);
  if (!read) return read.error();
  if (!read->host.empty()) host = read->host;
  port = read->port.value_or(port);
  return {};
}

std::string show_host(const std::string& host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace lockset::connections
