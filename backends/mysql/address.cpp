#include "backends/mysql/address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "lockset/lock_set.h"

namespace lockset::mysql {
namespace {

constexpr std::string_view known_parameters =
    "space, strategy, pool, connect_timeout, socket, password_file, ssl_mode, ssl_ca, ssl_cert, "
    "ssl_key, single_writer";

constexpr std::array<std::pair<std::string_view, SslMode>, 5> ssl_modes{{
    {"disabled", SslMode::disabled},
    {"preferred", SslMode::preferred},
    {"required", SslMode::required},
    {"verify_ca", SslMode::verify_ca},
    {"verify_identity", SslMode::verify_identity},
}};

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
    return invalid("a mysql: address names one server, not " + in_quotes(url.hosts) +
                   ": locks live on one writer; put a failover name or proxy there");
  }
  std::string_view port;
  if (hosts.starts_with('[')) {  // [::1]:3306
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
  options.database = url.path.starts_with('/') ? url.path.substr(1) : url.path;
  const bool simple = std::all_of(
      options.database.begin(), options.database.end(),
      [](unsigned char c) { return c > ' ' && c != 0x7F && c != '`' && c != '/' && c != '\\'; });
  if (options.database.empty() || !simple || options.database.size() > 64) {
    return invalid(
        "a mysql: address names a database: mysql://user@host/database?space=lockset, not " +
        url.redacted());
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

Status read_strategy(Options& options, const std::string& value) {
  if (value == "select-for-update") {
    options.strategy = Strategy::select_for_update;
  } else if (value == "unique-index") {
    options.strategy = Strategy::unique_index;
  } else {
    return invalid("strategy is select-for-update or unique-index, not " + in_quotes(value));
  }
  return {};
}

Status read_ssl_mode(Options& options, const std::string& value) {
  for (const auto& [name, mode] : ssl_modes) {
    if (name == value) return options.ssl_mode = mode, Status();
  }
  return invalid(
      "ssl_mode is disabled, preferred, required, verify_ca or verify_identity, "
      "not " +
      in_quotes(value));
}

Status read_connect_timeout(Options& options, const std::string& value) {
  const Result<Duration> timeout = parse_duration(value);
  if (!timeout || *timeout < std::chrono::milliseconds(100) || *timeout > std::chrono::hours(1)) {
    return invalid("connect_timeout must be 100ms to 1h, not " + in_quotes(value));
  }
  options.connect_timeout = *timeout;
  return {};
}

Status read_switch(bool& option, const std::string& key, const std::string& value) {
  if (value != "on" && value != "off") {
    return invalid(key + " is on or off, not " + in_quotes(value));
  }
  option = value == "on";
  return {};
}

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") return read_space(options, value);
  if (key == "strategy") return read_strategy(options, value);
  if (key == "connect_timeout") return read_connect_timeout(options, value);
  if (key == "password_file") return read_password_file(options, value);
  if (key == "ssl_mode") return read_ssl_mode(options, value);
  if (key == "single_writer") return read_switch(options.single_writer, key, value);
  if (key == "pool") {
    if (parse_number<std::size_t>(value, 1, 1000, options.pool)) return {};
    return invalid("pool must be 1 to 1000, not " + in_quotes(value));
  }
  if (key == "socket") return options.socket = value, Status();
  if (key == "ssl_ca") return options.ssl_ca = value, Status();
  if (key == "ssl_cert") return options.ssl_cert = value, Status();
  if (key == "ssl_key") return options.ssl_key = value, Status();
  return invalid("unknown parameter " + in_quotes(key) + " in a mysql: address; known are " +
                 std::string(known_parameters));
}

Status check_ssl(const Options& options, bool mode_given) {
  const bool verifies =
      options.ssl_mode == SslMode::verify_ca || options.ssl_mode == SslMode::verify_identity;
  if (verifies && options.ssl_ca.empty()) {
    return invalid(
        "ssl_mode=verify_ca and verify_identity need ssl_ca=FILE, the certificate of "
        "who signed the server's");
  }
  // A CA that verifies nothing would only look safe.
  if (!options.ssl_ca.empty() && mode_given && !verifies) {
    return invalid(
        "ssl_ca is given, but ssl_mode verifies nothing: write ssl_mode=verify_ca or "
        "verify_identity, or leave ssl_ca out");
  }
  if (options.ssl_cert.empty() != options.ssl_key.empty()) {
    return invalid("ssl_cert and ssl_key belong together: give both or none");
  }
  return {};
}

}  // namespace

std::string Options::shown() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string at = (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  return "MySQL (" + user + "@" + (socket.empty() ? at : socket) + "/" + database + ", space " +
         space + ")";
}

Result<Options> parse_address(const Url& url) {
  Options options;
  options.user = url.user;
  options.password = url.password;
  if (url.user.empty()) {
    return invalid("a mysql: address names a user: mysql://user@host/database, not " +
                   url.redacted());
  }
  if (Status status = read_hosts(options, url); !status) return status.error();
  if (Status status = read_database(options, url); !status) return status.error();
  for (const auto& [key, value] : url.params) {
    if (Status status = read_parameter(options, key, value); !status) return status.error();
  }
  const bool mode_given = url.params.contains("ssl_mode");
  // As MySQL's clients do: who names a CA wants it to be looked at.
  if (!mode_given && !options.ssl_ca.empty()) options.ssl_mode = SslMode::verify_ca;
  if (Status status = check_ssl(options, mode_given); !status) return status.error();
  if (options.password.empty() && !url.params.contains("password_file")) {
    if (const char* password = std::getenv("MYSQL_PWD")) options.password = password;
  }
  return options;
}

}  // namespace lockset::mysql
