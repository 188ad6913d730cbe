#include "backends/mysql/native_connection.h"

#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <dlfcn.h>
#include <mysql_driver.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace lockset::mysql {
namespace {

using std::chrono::ceil;
using std::chrono::seconds;

// When the socket can't be watched, the library's own timeout is the only end of a call.
constexpr int read_timeout_s = 30;

constexpr int tls_error = 2026;

// The driver's list of itself is not thread-safe; the driver is.
sql::Driver& driver() {
  static std::once_flag once;
  static sql::Driver* instance = nullptr;
  std::call_once(once, [] { instance = sql::mysql::get_driver_instance(); });
  return *instance;
}

// The client library wants to know of every thread that uses it.
struct ThreadGuard {
  ThreadGuard() { driver().threadInit(); }
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;
  ~ThreadGuard() { driver().threadEnd(); }
};

// libmariadb up to 3.3 verifies who signed whenever it is given a CA, and the host name only when
// it is asked to verify. From 3.4 on it verifies both or, not asked, neither. Of the connector's
// other libraries this is not known. The function has no header here: the connector brings none.
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
  map["OPT_CONNECT_TIMEOUT"] =
      std::max(1, static_cast<int>(ceil<seconds>(by - BootClock::now()).count()));
  map["OPT_READ_TIMEOUT"] = read_timeout_s;
  map["OPT_WRITE_TIMEOUT"] = read_timeout_s;
  map["OPT_RECONNECT"] = false;  // in silence, it would lose the session's settings
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
