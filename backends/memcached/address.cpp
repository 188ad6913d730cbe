#include "backends/memcached/address.h"

#include <string_view>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::memcached {
namespace {

using namespace addresses;

Status read_space(Options& options, const Url& url) {
  const std::string_view path = url.path;
  if (path.empty() || path == "/") return {};
  if (url.params.contains("space")) {
    return invalid("the space stands behind the host or in the parameter space, not in both: " +
                   url.redacted());
  }
  if (!path.starts_with('/')) {
    return invalid("behind memcached: comes //HOST:PORT/SPACE, or nothing, not " +
                   in_quotes(url.path));
  }
  return space_name(options.space)("the space behind the host", std::string(path.substr(1)));
}

Parameters parameters_of(Options& options) {
  return {
      {"space", space_name(options.space)},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"first", on_or_off(options.first)},
  };
}

}  // namespace

std::string Options::shown() const {
  return "memcached (" + show_host(host, port) + ", space " + space + ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  if (!url.user.empty() || !url.password.empty()) {
    return invalid(
        "a memcached: address takes no user or password: Lockset does not log in to "
        "memcached (SASL); protect the server by its network");
  }
  if (Status host = read_one_host(options.host, options.port, url); !host) return host.error();
  if (Status space = read_space(options, url); !space) return space.error();
  if (Status read = read_parameters(url, parameters_of(options)); !read) return read.error();
  return options;
}

}  // namespace lockset::memcached
