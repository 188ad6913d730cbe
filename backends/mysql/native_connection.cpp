#include "backends/mysql/native_connection.h"

#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <dlfcn.h>
#include <mysql_driver.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "backends/server/openssl_at_exit.h"

namespace lockset::mysql {
namespace {

using std::chrono::ceil;
using std::chrono::seconds;

// If the socket can't be watched, only the library's own timeout ends a call.
constexpr int read_timeout_s = 30;

constexpr int tls_error = 2026;

// Servers have different defaults, and people change them. So this sets everything that a statement
// relies on, and the isolation level comes after it. It is the first statement of a connection,
// before the connector's own, which the same defaults would end. A setting of only one server
// stands in that server's kind of comment.
constexpr const char* first_statement =
    "SET NAMES utf8mb4, SESSION time_zone = '+00:00', autocommit = 1, "
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 2, "
    "lock_wait_timeout = 10, group_concat_max_len = 65536, "
    // A COMMIT neither begins another transaction nor ends the connection.
    "completion_type = 0, "
    // Whole answers, and no statement refused for its form or for how much it reads.
    "sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1, "
    "sql_auto_is_null = 0, "
    // If both are off, MariaDB locks a table that is empty, and rolls back by emptying it.
    "unique_checks = 1, foreign_key_checks = 1"
    // Calls have deadlines of their own.
    "/*M! , max_statement_time = 0 *//*!80000 , max_execution_time = 0 */"
    // MariaDB keeps results of subqueries by the values that they depend on, which it compares by
    // their collation: in one set, it takes what it knows of "a" for "A" and "a ".
    "/*M! , optimizer_switch = 'subquery_cache=off' */";

// Thread-safe. It is never destroyed: exit() frees the connector's own instance, while our threads
// may still need it.
sql::Driver& driver() {
  static auto* const instance = new sql::mysql::MySQL_Driver();
  return *instance;
}

// The client library must be told of every thread that uses it.
struct ThreadGuard {
  ThreadGuard() { driver().threadInit(); }
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;
  ~ThreadGuard() { driver().threadEnd(); }
};

// libmariadb up to 3.3 verifies who signed the certificate whenever it is given a CA, and the host
// name only if it is asked to verify. From 3.4 on it verifies both, or neither if not asked. For
// the connector's other libraries this is not known. The function is not declared here, because the
// connector brings no header for it.
bool verifies_any_ca_it_is_given() {
  static const bool does = [] {
    using Version = unsigned long();
    auto* const version =
        reinterpret_cast<Version*>(::dlsym(RTLD_DEFAULT, "mysql_get_client_version"));
    return version != nullptr && version() >= 30000 && version() < 30400;
  }();
  return does;
}

sql::ConnectOptionsMap properties_of(const Options& options, bool encrypt, TimePoint by) {
  sql::ConnectOptionsMap map;
  const auto text = [&](const char* key, const std::string& value) {
    map[key] = sql::SQLString(value);
  };
  if (options.socket.empty()) {
    const bool is_v6 = options.host.find(':') != std::string::npos;
    text("hostName", "tcp://" + (is_v6 ? "[" + options.host + "]" : options.host));
    map["port"] = static_cast<int>(options.port);
  } else {
    text("hostName", "unix://" + options.socket);
  }
  text("userName", options.user);
  text("password", options.password);
  text("schema", options.database);
  text("OPT_CHARSET_NAME", "utf8mb4");
  map["OPT_CONNECT_TIMEOUT"] = static_cast<int>(
      std::clamp<seconds>(ceil<seconds>(by - BootClock::now()), seconds(1), std::chrono::hours(1))
          .count());
  map["OPT_READ_TIMEOUT"] = read_timeout_s;
  map["OPT_WRITE_TIMEOUT"] = read_timeout_s;
  map["OPT_RECONNECT"] = false;  // a silent reconnection would lose the session's settings
  text("preInit", first_statement);
  if (!encrypt) return map;
  map["sslEnforce"] = true;
  if (!options.ssl_cert.empty()) {
    text("sslCert", options.ssl_cert);
    text("sslKey", options.ssl_key);
  }
  if (!options.ssl_ca.empty()) text("sslCA", options.ssl_ca);
  if (checks_host_name(options.ssl_mode)) map["sslVerify"] = true;
  return map;
}

}  // namespace

const char* session_settings() { return first_statement; }

void use_thread() { thread_local const ThreadGuard guard; }

bool may_encrypt(const Options& options) {
  return options.ssl_mode != SslMode::disabled &&
         (options.socket.empty() || options.ssl_mode >= SslMode::required);
}

bool checks_host_name(SslMode mode) {
  return mode == SslMode::verify_identity ||
         (mode == SslMode::verify_ca && !verifies_any_ca_it_is_given());
}

std::unique_ptr<sql::Connection> connect_natively(const Options& options, TimePoint by) {
  server::keep_openssl_during_exit();
  const bool encrypt = may_encrypt(options);
  try {
    sql::ConnectOptionsMap properties = properties_of(options, encrypt, by);
    return std::unique_ptr<sql::Connection>(driver().connect(properties));
  } catch (const sql::SQLException& error) {
    const bool has_none = error.getErrorCode() == tls_error &&
                          std::string_view(error.what()).find("not support") != std::string::npos;
    if (options.ssl_mode != SslMode::preferred || !has_none) throw;
  }
  sql::ConnectOptionsMap properties = properties_of(options, false, by);
  return std::unique_ptr<sql::Connection>(driver().connect(properties));
}

}  // namespace lockset::mysql
