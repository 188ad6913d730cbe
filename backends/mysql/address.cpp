#include "backends/mysql/address.h"

#include <algorithm>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"

namespace lockset::mysql {
namespace {

using namespace addresses;

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

Parameters parameters_of(Options& options) {
  return {
      {"space", space_name(options.space)},
      {"strategy", one_of(options.strategy, {{"select-for-update", Strategy::select_for_update},
                                             {"unique-index", Strategy::unique_index},
                                             {"session", Strategy::session}})},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"socket", text(options.socket)},
      {"password_file", password_file(options.password)},
      {"ssl_mode", one_of(options.ssl_mode, {{"disabled", SslMode::disabled},
                                             {"preferred", SslMode::preferred},
                                             {"required", SslMode::required},
                                             {"verify_ca", SslMode::verify_ca},
                                             {"verify_identity", SslMode::verify_identity}})},
      {"ssl_ca", text(options.ssl_ca)},
      {"ssl_cert", text(options.ssl_cert)},
      {"ssl_key", text(options.ssl_key)},
      {"single_writer", on_or_off(options.single_writer)},
  };
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
  return check_certificate(options.ssl_cert, options.ssl_key);
}

}  // namespace

std::string Options::shown() const {
  const std::string at = addresses::show_host(host, port);
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
  Status host = read_one_host(options.host, options.port, url);
  if (!host) return host.error();
  if (Status status = read_database(options, url); !status) return status.error();
  Status read = read_parameters(url, parameters_of(options));
  if (!read) return read.error();
  const bool mode_given = url.params.contains("ssl_mode");
  // As in MySQL's clients: an address that names a CA wants the certificate verified.
  if (!mode_given && !options.ssl_ca.empty()) options.ssl_mode = SslMode::verify_ca;
  if (Status status = check_ssl(options, mode_given); !status) return status.error();
  add_password(options.password, url, "MYSQL_PWD");
  return options;
}

}  // namespace lockset::mysql
