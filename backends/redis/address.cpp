#include "backends/redis/address.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "lockset/lock_set.h"

namespace lockset::redis {
namespace {

constexpr std::string_view known_parameters =
    "space, pool, connect_timeout, socket, password_file, ssl_ca, ssl_cert, ssl_key";

Error invalid(std::string text) { return Error{Errc::invalid, std::move(text)}; }

template <class Number>
bool parse_number(std::string_view text, Number least, Number most, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= most;
}

Status read_hosts(Options& options, const Url& url) {
  std::string_view hosts = url.hosts;
  if (hosts.find(',') != std::string_view::npos) {
    return invalid("a redis: address names one server, not " + in_quotes(url.hosts) +
                   ": locks live on one primary; put a failover name or proxy there");
  }
  std::string_view port;
  if (hosts.starts_with('[')) {  // [::1]:6379
    const std::size_t end = hosts.find(']');
    if (end == std::string_view::npos) return invalid("no ] behind " + in_quotes(url.hosts));
    port = hosts.substr(end + 1);
    hosts = hosts.substr(1, end - 1);
  } else if (const std::size_t colon = hosts.rfind(':'); colon != std::string_view::npos) {
    port = hosts.substr(colon);
    hosts = hosts.substr(0, colon);
  }
  if (!hosts.empty()) options.host = hosts;
  if (port.empty()) return {};
  if (port.front() != ':' || !parse_number<std::uint16_t>(port.substr(1), 1, 65535, options.port)) {
    return invalid("the port in " + in_quotes(url.hosts) + " must be 1 to 65535");
  }
  return {};
}

Status read_database(Options& options, const Url& url) {
  const std::string_view path = url.path;
  if (path.empty() || path == "/") return {};
  if (!path.starts_with('/') || !parse_number(path.substr(1), 0U, 65535U, options.database)) {
    return invalid("behind the host of a redis: address comes a database number: /0, not " +
                   in_quotes(url.path));
  }
  return {};
}

Status read_password_file(Options& options, const std::string& path) {
  std::ifstream file(path);
  if (!file || !std::getline(file, options.password)) {
    return Error{Errc::misconfigured,
                 "the password_file " + in_quotes(path) +
                     " can't be read: it holds the password in its first line"};
  }
  if (options.password.ends_with('\r')) options.password.pop_back();
  return {};
}

Status read_space(Options& options, const std::string& value) {
  const bool simple = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (value.empty() || value.size() > 32 || !simple) {
    return invalid("space must be 1 to 32 of a-z, 0-9 and _, not " + in_quotes(value));
  }
  options.space = value;
  return {};
}

Status read_connect_timeout(Options& options, const std::string& value) {
  const Result<Duration> timeout = parse_duration(value);
  if (!timeout || *timeout < std::chrono::milliseconds(100) || *timeout > std::chrono::hours(1)) {
    return invalid("connect_timeout must be 100ms to 1h, not " + in_quotes(value));
  }
  options.connect_timeout = *timeout;
  return {};
}

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") return read_space(options, value);
  if (key == "connect_timeout") return read_connect_timeout(options, value);
  if (key == "password_file") return read_password_file(options, value);
  if (key == "pool") {
    if (parse_number<std::size_t>(value, 1, 1000, options.pool)) return {};
    return invalid("pool must be 1 to 1000, not " + in_quotes(value));
  }
  if (key == "socket") return options.socket = value, Status();
  if (key == "ssl_ca") return options.ssl_ca = value, Status();
  if (key == "ssl_cert") return options.ssl_cert = value, Status();
  if (key == "ssl_key") return options.ssl_key = value, Status();
  return invalid("unknown parameter " + in_quotes(key) + " in a redis: address; known are " +
                 std::string(known_parameters));
}

Status check_tls(const Options& options) {
  const bool given = !options.ssl_ca.empty() || !options.ssl_cert.empty();
  if (given && !options.tls) {
    return invalid("ssl_ca and ssl_cert are for rediss: addresses; this one is not encrypted");
  }
  if (options.ssl_cert.empty() != options.ssl_key.empty()) {
    return invalid("ssl_cert and ssl_key belong together: give both or none");
  }
  if (options.tls && !options.socket.empty()) {
    return invalid("a socket on this host needs no TLS: write redis: instead of rediss:");
  }
  if (options.tls && !has_tls()) {
    return Error{Errc::unsupported,
                 "rediss: needs TLS, and the hiredis of this build has none (hiredis 1.0 with "
                 "hiredis_ssl has it): use redis: over a trusted network, a tunnel or a socket"};
  }
  return {};
}

}  // namespace

bool has_tls() noexcept {
#ifdef LOCKSET_HAS_HIREDIS_SSL
  return true;
#else
  return false;
#endif
}

std::string Options::shown() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string at = (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  return "Redis (" + (user.empty() ? "" : user + "@") + (socket.empty() ? at : socket) + "/" +
         std::to_string(database) + ", space " + space + ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  options.tls = url.scheme == "rediss";
  options.user = url.user;
  options.password = url.password;
  if (Status status = read_hosts(options, url); !status) return status.error();
  if (Status status = read_database(options, url); !status) return status.error();
  for (const auto& [key, value] : url.params) {
    if (Status status = read_parameter(options, key, value); !status) return status.error();
  }
  if (Status status = check_tls(options); !status) return status.error();
  if (options.password.empty() && !url.params.contains("password_file")) {
    if (const char* password = std::getenv("REDISCLI_AUTH")) options.password = password;
  }
  if (!options.user.empty() && options.password.empty()) {
    return invalid("the user " + in_quotes(options.user) +
                   " has no password: give it in the address, in password_file or in "
                   "REDISCLI_AUTH");
  }
  return options;
}

}  // namespace lockset::redis
