#include "backends/postgresql/address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "lockset/lock_set.h"

namespace lockset::postgresql {
namespace {

// libpq's own parameters that may be given; the same names, the same meaning.
constexpr std::array passed_on{
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "sslcrldir",
    "sslsni",
    "sslcompression",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "channel_binding",
    "passfile",
    "gssencmode",
    "krbsrvname",
    "gsslib",
    "requirepeer",
    "host",
    "hostaddr",
    "port",
    "target_session_attrs",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "service",
    "password",
};

constexpr std::string_view own_parameters =
    "space, strategy, pool, connect_timeout, pooler, listen and libpq's (sslmode, sslrootcert, "
    "sslcert, sslkey, passfile, host, ...)";

Error invalid(const std::string& what) { return Error{Errc::invalid, "postgresql: " + what}; }

void add(std::string& conninfo, std::string_view key, std::string_view value) {
  if (!conninfo.empty()) conninfo += ' ';
  conninfo += key;
  conninfo += "='";
  for (const char c : value) {
    if (c == '\'' || c == '\\') conninfo += '\\';
    conninfo += c;
  }
  conninfo += '\'';
}

Status read_space(Options& options, const std::string& value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (value.empty() || value.size() > 32 || !plain) {
    return invalid("space must be 1 to 32 of a-z, 0-9 and _, not " + in_quotes(value));
  }
  if (value.starts_with("pg_") || value == "information_schema") {
    return invalid("the schema " + in_quotes(value) + " is PostgreSQL's own: name another space");
  }
  options.space = value;
  return {};
}

Result<bool> read_switch(const std::string& key, const std::string& value) {
  if (value == "on") return true;
  if (value == "off") return false;
  return invalid(key + " is on or off, not " + in_quotes(value));
}

// Lockset's own parameters; false if `key` is none of them.
Result<bool> read_own(Options& options, const std::string& key, const std::string& value) {
  if (key == "space") {
    if (Status status = read_space(options, value); !status) return status.error();
  } else if (key == "strategy") {
    if (value != "advisory" && value != "serializable") {
      return invalid("strategy is advisory or serializable, not " + in_quotes(value));
    }
    options.strategy = value == "advisory" ? Strategy::advisory : Strategy::serializable;
  } else if (key == "pool") {
    std::size_t number = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc{} || end != value.data() + value.size() || number < 1 ||
        number > 1000) {
      return invalid("pool is a number from 1 to 1000, not " + in_quotes(value));
    }
    options.pool = number;
  } else if (key == "connect_timeout") {
    const Result<Duration> duration = parse_duration(value);
    if (!duration) return invalid("connect_timeout: " + duration.error().message);
    if (*duration < std::chrono::milliseconds(100)) {
      return invalid("connect_timeout is at least 100ms, not " + in_quotes(value));
    }
    options.connect_timeout = *duration;
  } else if (key == "pooler" || key == "listen") {
    const Result<bool> on = read_switch(key, value);
    if (!on) return on.error();
    (key == "pooler" ? options.pooler : options.listen) = *on;
  } else {
    return false;
  }
  return true;
}

// "db1:5432,[::1]" taken apart: libpq's parameters for each.
Result<std::vector<std::string>> read_hosts(const std::string& text) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string host = text.substr(begin, end - begin);
    std::string port;
    const std::size_t bracket = host.rfind(']');
    const std::size_t colon = host.rfind(':');
    if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
      port = host.substr(colon + 1);
      host.erase(colon);
      const bool digits =
          !port.empty() && port.size() <= 5 &&
          std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!digits) return invalid("a port is a number, not " + in_quotes(port));
    }
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    std::string& one = hosts.emplace_back();
    add(one, "host", host);
    if (!port.empty()) add(one, "port", port);
    begin = end + 1;
  }
  return hosts;
}

}  // namespace

Result<Options> parse_address(const Url& url) {
  Options options;
  if (!url.has_authority) {
    return invalid("write postgresql://user@host/database, not " + url.redacted());
  }
  bool listen_given = false;
  std::string conninfo;
  for (const auto& [key, value] : url.params) {
    if (value.find('\0') != std::string::npos) return invalid("a parameter holds a zero byte");
    const Result<bool> own = read_own(options, key, value);
    if (!own) return own.error();
    listen_given = listen_given || key == "listen";
    if (*own) continue;
    if (std::find(passed_on.begin(), passed_on.end(), key) == passed_on.end()) {
      return invalid("unknown parameter " + in_quotes(key) + "; there are " +
                     std::string(own_parameters));
    }
    if (!url.hosts.empty() && (key == "host" || key == "port")) {
      return invalid(key + " stands in the address twice: before the path and as a parameter");
    }
    add(conninfo, key, value);
  }
  // Behind a pooler each statement may run on another session, and LISTEN is lost.
  if (options.pooler && !listen_given) options.listen = false;

  const std::string database = url.path.empty() ? "" : url.path.substr(1);
  if (database.find('/') != std::string::npos) {
    return invalid("the path is the name of one database, not " + in_quotes(database));
  }
  if (!database.empty()) add(conninfo, "dbname", database);
  if (!url.user.empty()) add(conninfo, "user", url.user);
  if (!url.password.empty()) add(conninfo, "password", url.password);
  add(conninfo, "application_name", "lockset");
  add(conninfo, "client_encoding", "UTF8");

  Result<std::vector<std::string>> hosts = std::vector<std::string>{""};
  if (!url.hosts.empty()) hosts = read_hosts(url.hosts);
  if (!hosts) return hosts.error();
  // Of several servers the one that can be written to.
  if (hosts->size() > 1 && !url.params.contains("target_session_attrs")) {
    add(conninfo, "target_session_attrs", "read-write");
  }
  for (const std::string& one : *hosts) {
    options.conninfos.push_back(one.empty() ? conninfo : one + " " + conninfo);
  }
  const auto host = url.params.find("host");
  options.shown = (url.user.empty() ? "" : url.user + "@") +
                  (url.hosts.empty() && host != url.params.end() ? host->second : url.hosts) + "/" +
                  database + ", space " + options.space;
  return options;
}

}  // namespace lockset::postgresql
