#include "backends/zookeeper/address.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "backends/zookeeper/paths.h"
#include "lockset/lock_set.h"

namespace lockset::zookeeper {
namespace {

constexpr std::string_view known_parameters =
    "space, pool, connect_timeout, session_timeout, short_leases, password_file";

Error invalid(std::string text) { return Error{Errc::invalid, std::move(text)}; }

template <class Number>
bool parse_number(std::string_view text, Number least, Number most, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= most;
}

// One of "host", "host:port", "[::1]:port"; with the usual port where it has none.
Result<std::string> read_host(std::string_view text, const std::string& all) {
  std::string_view host = text;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return invalid("no ] behind " + in_quotes(all));
    port = host.substr(end + 1);
    host = host.substr(0, end + 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty() || host == "[]") return invalid("an empty host in " + in_quotes(all));
  std::uint16_t number = 2181;
  if (!port.empty() &&
      (port.front() != ':' || !parse_number<std::uint16_t>(port.substr(1), 1, 65535, number))) {
    return invalid("the port in " + in_quotes(all) + " must be 1 to 65535");
  }
  return std::string(host) + ":" + std::to_string(number);
}

Status read_hosts(Options& options, const Url& url) {
  std::string_view rest = url.hosts.empty() ? std::string_view("127.0.0.1") : url.hosts;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const Result<std::string> host = read_host(rest.substr(0, comma), url.hosts);
    if (!host) return host.error();
    options.hosts += (options.hosts.empty() ? "" : ",") + *host;
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

Status read_duration(Duration& option, Duration least, const std::string& key,
                     const std::string& value) {
  const Result<Duration> duration = parse_duration(value);
  if (!duration || *duration < least || *duration > std::chrono::hours(1)) {
    return invalid(key + " must be " + format_duration(least) + " to 1h, not " + in_quotes(value));
  }
  option = *duration;
  return {};
}

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  using std::chrono::milliseconds;
  if (key == "space") return read_space(options, value);
  if (key == "password_file") return read_password_file(options, value);
  if (key == "connect_timeout") {
    return read_duration(options.connect_timeout, milliseconds(100), key, value);
  }
  if (key == "session_timeout") {
    return read_duration(options.session_timeout, milliseconds(1000), key, value);
  }
  if (key == "pool") {
    if (parse_number<std::size_t>(value, 1, 1000, options.pool)) return {};
    return invalid("pool must be 1 to 1000, not " + in_quotes(value));
  }
  if (key == "short_leases") {
    if (value != "on" && value != "off") {
      return invalid("short_leases is on or off, not " + in_quotes(value));
    }
    options.short_leases = value == "on";
    return {};
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
