#include "backends/redis/address.h"

#include <string_view>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::redis {
namespace {

using namespace addresses;

Status read_database(Options& options, const Url& url) {
  const std::string_view path = url.path;
  if (path.empty() || path == "/") return {};
  if (!path.starts_with('/') || !parse_number(path.substr(1), 0U, 65535U, options.database)) {
    return invalid("behind the host of a redis: address comes a database number: /0, not " +
                   in_quotes(url.path));
  }
  return {};
}

Parameters parameters_of(Options& options) {
  return {
      {"space", space_name(options.space)},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"socket", text(options.socket)},
      {"password_file", password_file(options.password)},
      {"ssl_ca", text(options.ssl_ca)},
      {"ssl_cert", text(options.ssl_cert)},
      {"ssl_key", text(options.ssl_key)},
  };
}

Status check_tls(const Options& options) {
  const bool given = !options.ssl_ca.empty() || !options.ssl_cert.empty();
  if (given && !options.tls) {
    return invalid("ssl_ca and ssl_cert are for rediss: addresses; this one is not encrypted");
  }
  if (Status both = check_certificate(options.ssl_cert, options.ssl_key); !both) return both;
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
  const std::string at = show_host(host, port);
  return "Redis (" + (user.empty() ? "" : user + "@") + (socket.empty() ? at : socket) + "/" +
         std::to_string(database) + ", space " + space + ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  if (Status status = check_authority(url, "redis://host:6379/0"); !status) return status.error();
  options.tls = url.scheme == "rediss";
  options.user = url.user;
  options.password = url.password;
  Status host = read_one_host(options.host, options.port, url);
  if (!host) return host.error();
  if (Status status = read_database(options, url); !status) return status.error();
  Status read = read_parameters(url, parameters_of(options));
  if (!read) return read.error();
  if (Status status = check_tls(options); !status) return status.error();
  add_password(options.password, url, "REDISCLI_AUTH");
  Status password = check_password(options.user, options.password, "REDISCLI_AUTH");
  if (!password) return password.error();
  return options;
}

}  // namespace lockset::redis
