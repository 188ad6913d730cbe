#include "backends/zookeeper/address.h"

#include <chrono>
#include <string_view>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"
#include "backends/zookeeper/paths.h"
#include "lockset/lock_set.h"

namespace lockset::zookeeper {
namespace {

using namespace addresses;

Status read_hosts(Options& options, const Url& url) {
  std::string_view rest = url.hosts.empty() ? std::string_view("127.0.0.1") : url.hosts;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const Result<HostPort> one = read_host(rest.substr(0, comma));
    if (!one) return one.error();
    if (one->host.empty()) return invalid("an empty host in " + in_quotes(url.hosts));
    const std::string comma_before = options.hosts.empty() ? "" : ",";
    const std::uint16_t port = one->port.value_or(2181);
    options.hosts += comma_before + show_host(one->host, port);
    options.library_hosts += comma_before + one->host + ":" + std::to_string(port);
    if (more) rest.remove_prefix(comma + 1);
  }
  return {};
}

Status read_chroot(Options& options, const Url& url) {
  std::string path = url.path;
  if (path.ends_with('/')) path.pop_back();
  if (!path.empty() && !is_valid_path(path)) {
    return invalid("no path of ZooKeeper: " + in_quotes(url.path) +
                   "; write zookeeper://host/jobs/locks?space=lockset");
  }
  options.chroot = path;
  return {};
}

Status read_user(Options& options, const Url& url) {
  options.user = url.user;
  options.password = url.password;
  if (url.user.find(':') != std::string::npos) {
    return invalid("a user of ZooKeeper's digest scheme has no colon in his name");
  }
  if (url.user.empty() && !url.password.empty()) {
    return invalid("a zookeeper: address with a password names the user too: " + url.redacted());
  }
  return {};
}

Parameters parameters_of(Options& options) {
  return {
      {"space", space_name(options.space)},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"session_timeout", duration_from(std::chrono::seconds(1), options.session_timeout)},
      {"short_leases", on_or_off(options.short_leases)},
      {"password_file", password_file(options.password)},
  };
}

}  // namespace

std::string Options::shown() const {
  return "ZooKeeper (" + (user.empty() ? "" : user + "@") + hosts + chroot + ", space " + space +
         ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  Status servers = check_authority(url, "zookeeper://host:2181/path");
  if (!servers) return servers.error();
  if (Status status = read_hosts(options, url); !status) return status.error();
  if (Status status = read_user(options, url); !status) return status.error();
  if (Status status = read_chroot(options, url); !status) return status.error();
  Status read = read_parameters(url, parameters_of(options));
  if (!read) return read.error();
  if (!options.user.empty()) add_password(options.password, url, "ZOOKEEPER_PASSWORD");
  Status password = check_password(options.user, options.password, "ZOOKEEPER_PASSWORD");
  if (!password) return password.error();
  return options;
}

}  // namespace lockset::zookeeper
