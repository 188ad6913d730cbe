#include "backends/server/address_parts.h"

#include <algorithm>
#include <cstdlib>

#include "backends/parameters.h"
#include "lockset/lock_set.h"

namespace lockset::addresses {

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

Status check_authority(const Url& url, std::string_view example) {
  if (url.has_authority) return {};
  return invalid("a " + url.scheme + ": address names a server: " + std::string(example) +
                 ", not " + url.redacted());
}

void add_password(std::string& password, const Url& url, const char* variable) {
  if (!password.empty() || url.params.contains("password_file")) return;
  if (const char* const given = std::getenv(variable)) password = given;
}

Status check_password(const std::string& user, const std::string& password,
                      std::string_view variable) {
  if (user.empty() || !password.empty()) return {};
  return invalid("the user " + in_quotes(user) +
                 " has no password: give it in the address, in password_file or in " +
                 std::string(variable));
}

Status check_certificate(const std::string& ssl_cert, const std::string& ssl_key) {
  if (ssl_cert.empty() == ssl_key.empty()) return {};
  return invalid("ssl_cert and ssl_key belong together: give both or none");
}

}  // namespace lockset::addresses
