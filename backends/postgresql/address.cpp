#include "backends/postgresql/address.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "backends/server/address_parts.h"
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
  if (Status status = connections::read_space(options.space, value); !status) return status;
  if (value.starts_with("pg_") || value == "information_schema") {
    return invalid("the schema " + in_quotes(value) + " is PostgreSQL's own: name another space");
  }
  return {};
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
    if (Status status = connections::read_pool(options.pool, value); !status) return status.error();
  } else if (key == "connect_timeout") {
    Status status = connections::read_connect_timeout(options.connect_timeout, value);
    if (!status) return status.error();
  } else if (key == "pooler" || key == "listen") {
    bool& option = key == "pooler" ? options.pooler : options.listen;
    if (Status status = connections::read_switch(option, key, value); !status) {
      return status.error();
    }
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
    const Result<connections::HostPort> host =
        connections::read_host(text.substr(begin, end - begin));
    if (!host) return host.error();
    std::string& one = hosts.emplace_back();
    add(one, "host", host->host);
    if (host->port) add(one, "port", std::to_string(*host->port));
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
