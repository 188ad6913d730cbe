#include "backends/mysql/address.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::mysql {
namespace {

using connections::invalid;

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

Status read_parameter(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") return connections::read_space(options.space, value);
  if (key == "strategy") return read_strategy(options, value);
  if (key == "connect_timeout") {
    return connections::read_connect_timeout(options.connect_timeout, value);
  }
  if (key == "password_file") {
    return connections::read_password_file(options.password, value);
  }
  if (key == "ssl_mode") return read_ssl_mode(options, value);
  if (key == "single_writer") {
    return connections::read_switch(options.single_writer, key, value);
  }
  if (key == "pool") return connections::read_pool(options.pool, value);
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
  const std::string at = connections::show_host(host, port);
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
  Status host = connections::read_one_host(options.host, options.port, url);
  if (!host) return host.error();
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
