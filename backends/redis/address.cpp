#include "backends/redis/address.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::redis {
namespace {

using connections::invalid;

constexpr std::string_view known_parameters =
    "space, pool, connect_timeout, socket, password_file, ssl_ca, ssl_cert, ssl_key";

Status read_database(Options& options, const Url& url) {
  const std::string_view path = url.path;
  if (path.empty() || path == "/") return {};
  if (!path.starts_with('/') ||
      !connections::parse_number(path.substr(1), 0U, 65535U, options.database)) {
    return invalid("behind the host of a redis: address comes a database number: /0, not " +
                   in_quotes(url.path));
  }
  return {};
}

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") return connections::read_space(options.space, value);
  if (key == "connect_timeout") {
    return connections::read_connect_timeout(options.connect_timeout, value);
  }
  if (key == "password_file") {
    return connections::read_password_file(options.password, value);
  }
  if (key == "pool") return connections::read_pool(options.pool, value);
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
    return Error{Errc::misconfigured,
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
  const std::string at = connections::show_host(host, port);
  return "Redis (" + (user.empty() ? "" : user + "@") + (socket.empty() ? at : socket) + "/" +
         std::to_string(database) + ", space " + space + ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  if (!url.has_authority) {
    return invalid("a redis: address names a server: redis://host:6379/0, not " + url.redacted());
  }
  options.tls = url.scheme == "rediss";
  options.user = url.user;
  options.password = url.password;
  Status host = connections::read_one_host(options.host, options.port, url);
  if (!host) return host.error();
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
