#include "backends/zookeeper/address.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/server/address_parts.h"
#include "backends/zookeeper/paths.h"
#include "lockset/lock_set.h"

namespace lockset::zookeeper {
namespace {

using connections::invalid;

constexpr std::string_view known_parameters =
    "space, pool, connect_timeout, session_timeout, short_leases, password_file";

Status read_hosts(Options& options, const Url& url) {
  std::string_view rest = url.hosts.empty() ? std::string_view("127.0.0.1") : url.hosts;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const Result<connections::HostPort> one = connections::read_host(rest.substr(0, comma));
    if (!one) return one.error();
    if (one->host.empty()) return invalid("an empty host in " + in_quotes(url.hosts));
    const std::string comma_before = options.hosts.empty() ? "" : ",";
    const std::uint16_t port = one->port.value_or(2181);
    options.hosts += comma_before + connections::show_host(one->host, port);
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

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") return connections::read_space(options.space, value);
  if (key == "password_file") {
    return connections::read_password_file(options.password, value);
  }
  if (key == "connect_timeout") {
    return connections::read_connect_timeout(options.connect_timeout, value);
  }
  if (key == "session_timeout") {
    return connections::read_duration(options.session_timeout, std::chrono::seconds(1), key, value);
  }
  if (key == "pool") return connections::read_pool(options.pool, value);
  if (key == "short_leases") {
    return connections::read_switch(options.short_leases, key, value);
  }
  return invalid("unknown parameter " + in_quotes(key) + " in a zookeeper: address; known are " +
                 std::string(known_parameters));
}

}  // namespace

std::string Options::shown() const {
  return "ZooKeeper (" + (user.empty() ? "" : user + "@") + hosts + chroot + ", space " + space +
         ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  if (!url.has_authority) {
    return invalid("a zookeeper: address names servers: zookeeper://host:2181/path, not " +
                   url.redacted());
  }
  if (Status status = read_hosts(options, url); !status) return status.error();
  if (Status status = read_user(options, url); !status) return status.error();
  if (Status status = read_chroot(options, url); !status) return status.error();
  for (const auto& [key, value] : url.params) {
    if (Status status = read_parameter(options, key, value); !status) return status.error();
  }
  if (!options.user.empty() && options.password.empty() && !url.params.contains("password_file")) {
    if (const char* password = std::getenv("ZOOKEEPER_PASSWORD")) options.password = password;
  }
  if (!options.user.empty() && options.password.empty()) {
    return invalid("no password for the user " + in_quotes(options.user) +
                   ": give it in the address, a password_file or ZOOKEEPER_PASSWORD");
  }
  return options;
}

}  // namespace lockset::zookeeper
