#include "backends/redis/address.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::redis {
namespace {

using namespace addresses;

constexpr const char* sentinel_auth = "REDISCLI_SENTINEL_AUTH";

Status read_database(Options& options, std::string_view path, const Url& url) {
  if (path.empty() || path == "/") return {};
  if (!path.starts_with('/') || !parse_number(path.substr(1), 0U, 65535U, options.database)) {
    const std::string behind = url.scheme.ends_with("+sentinel") ? "primary" : "host";
    return invalid("behind the " + behind + " of a " + url.scheme +
                   ": address comes a database number: /0, not " + in_quotes(path));
  }
  return {};
}

Status read_server(Options& options, const Url& url) {
  Status host = read_one_host(options.server.host, options.server.port, url);
  if (!host) return host.error();
  return read_database(options, url.path, url);
}

constexpr std::uint16_t sentinel_port = 26379;

// Those that name the server.
Status read_places(Options& options, std::uint16_t port, const Url& url) {
  for (std::size_t begin = 0; begin <= url.hosts.size();) {
    const std::size_t end = std::min(url.hosts.find(',', begin), url.hosts.size());
    const Result<HostPort> host = read_host(url.hosts.substr(begin, end - begin));
    if (!host) return host.error();
    Place place{host->host.empty() ? "127.0.0.1" : host->host, host->port.value_or(port)};
    const auto& all = options.sentinels;
    if (std::find(all.begin(), all.end(), place) != all.end()) {
      return invalid(place.shown() +
                     " stands in the address twice: a majority of different ones counts");
    }
    options.sentinels.push_back(std::move(place));
    begin = end + 1;
  }
  options.server.port = 0;
  return {};
}

Status read_nodes(Options& options, const Url& url) {
  options.cluster = true;
  if (!url.path.empty() && url.path != "/" && url.path != "/0") {
    return invalid("a cluster has database 0 only: leave out " + in_quotes(url.path));
  }
  return read_places(options, Place().port, url);
}

Status read_sentinels(Options& options, const Url& url) {
  if (Status status = read_places(options, sentinel_port, url); !status) return status.error();
  const std::string path = url.path.empty() ? "" : url.path.substr(1);
  const std::size_t slash = std::min(path.find('/'), path.size());
  options.primary = path.substr(0, slash);
  if (options.primary.empty()) {
    return invalid("behind the sentinels of a " + url.scheme +
                   ": address comes the name by which they know the primary: " + url.scheme +
                   "://s1,s2,s3/mymaster");
  }
  return read_database(options, std::string_view(path).substr(slash), url);
}

Parameters parameters_of(Options& options) {
  return {
      {"space", space_name(options.space)},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"socket", text(options.socket)},
      {"password_file", password_file(options.password)},
      {"sentinel_user", text(options.sentinel_user)},
      {"sentinel_password_file", password_file(options.sentinel_password)},
      {"ssl_ca", text(options.ssl_ca)},
      {"ssl_cert", text(options.ssl_cert)},
      {"ssl_key", text(options.ssl_key)},
  };
}

// One table serves all three kinds of addresses.
Status check_kind(const Options& options) {
  if (!options.sentinels.empty() && !options.socket.empty()) {
    return invalid("a socket is one server's: write redis: for it, without sentinels or nodes");
  }
  if (options.primary.empty() &&
      !(options.sentinel_user.empty() && options.sentinel_password.empty())) {
    return invalid("sentinel_user and sentinel_password_file are for redis+sentinel: addresses");
  }
  return {};
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
  const std::string behind = std::to_string(database) + ", space " + space + ")";
  if (is_sentinel()) return "sentinel " + server.shown();
  const std::string who = user.empty() ? "" : user + "@";
  if (sentinels.empty()) {
    return "Redis (" + who + (socket.empty() ? server.shown() : socket) + "/" + behind;
  }
  std::string named;
  for (const Place& one : sentinels) named += (named.empty() ? "" : ", ") + one.shown();
  const std::string at = server.port == 0 ? "" : server.shown() + ", ";
  return "Redis (" + who + at +
         (cluster ? "by the cluster's nodes " : primary + " by the sentinels ") + named +
         ", database " + behind;
}

Result<Options> parse_address(const Url& url) {
  Options options;
  if (Status status = check_authority(url, "redis://host:6379/0"); !status) return status.error();
  options.tls = url.scheme.starts_with("rediss");
  options.user = url.user;
  options.password = url.password;
  const bool by_sentinels = url.scheme.ends_with("+sentinel");
  const auto read_where = by_sentinels                       ? read_sentinels
                          : url.scheme.ends_with("+cluster") ? read_nodes
                                                             : read_server;
  Status where = read_where(options, url);
  if (!where) return where.error();
  Status read = read_parameters(url, parameters_of(options));
  if (!read) return read.error();
  if (Status status = check_kind(options); !status) return status.error();
  if (Status status = check_tls(options); !status) return status.error();
  add_password(options.password, url, "REDISCLI_AUTH");
  Status password = check_password(options.user, options.password, "REDISCLI_AUTH");
  if (!password) return password.error();
  if (!by_sentinels) return options;
  if (!url.params.contains("sentinel_password_file")) {
    if (const char* const given = std::getenv(sentinel_auth)) options.sentinel_password = given;
  }
  password = check_password(options.sentinel_user, options.sentinel_password, sentinel_auth);
  if (!password) return password.error();
  return options;
}

}  // namespace lockset::redis
