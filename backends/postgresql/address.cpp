#include "backends/postgresql/address.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "backends/parameters.h"
#include "backends/server/address_parts.h"
#include "lockset/lock_set.h"

namespace lockset::postgresql {
namespace {

using namespace addresses;

// libpq's own parameters that an address may give, with the same names and meanings.
constexpr std::string_view passed_on =
    "sslmode sslrootcert sslcert sslkey sslpassword sslcrl sslcrldir sslsni sslcompression "
    "ssl_min_protocol_version ssl_max_protocol_version channel_binding passfile gssencmode "
    "krbsrvname gsslib requirepeer host hostaddr port target_session_attrs keepalives "
    "keepalives_idle keepalives_interval keepalives_count tcp_user_timeout service password";

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

Reader schema_name(std::string& option) {
  return [&option](const std::string& name, const std::string& value) -> Status {
    if (value.starts_with("pg_") || value == "information_schema") {
      return invalid("the schema " + in_quotes(value) + " is PostgreSQL's own: name another space");
    }
    return space_name(option)(name, value);
  };
}

Parameters parameters_of(Options& options, std::string& conninfo) {
  Parameters parameters{
      {"space", schema_name(options.space)},
      {"strategy", one_of(options.strategy, {{"advisory", Strategy::advisory},
                                             {"serializable", Strategy::serializable},
                                             {"session", Strategy::session}})},
      {"failover", one_of(options.failover, {{"quarantine", FailoverMeans::quarantine},
                                             {"synchronous", FailoverMeans::synchronous}})},
      {"pool", pool_size(options.pool)},
      {"connect_timeout", connect_timeout(options.connect_timeout)},
      {"pooler", on_or_off(options.pooler)},
      {"listen", on_or_off(options.listen)},
  };
  std::istringstream names{std::string(passed_on)};
  for (std::string name; names >> name;) {
    parameters.push_back({name, [&conninfo](const std::string& key, const std::string& value) {
                            return add(conninfo, key, value), Status();
                          }});
  }
  return parameters;
}

// Takes "db1:5432,[::1]" apart: libpq's parameters for each host.
Result<std::vector<std::string>> read_hosts(const std::string& text) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Result<HostPort> host = read_host(text.substr(begin, end - begin));
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
  Status server = check_authority(url, "postgresql://user@host/database");
  if (!server) return server.error();
  std::string conninfo;
  Status read = read_parameters(url, parameters_of(options, conninfo));
  if (!read) return read.error();
  for (const char* const key : {"host", "port"}) {
    if (url.hosts.empty() || !url.params.contains(key)) continue;
    return invalid(std::string(key) +
                   " stands in the address twice: before the path and as a parameter");
  }
  // Behind a pooler each statement may run on another session, and LISTEN is lost.
  if (options.pooler && !url.params.contains("listen")) options.listen = false;

  const std::string database = url.path.empty() ? "" : url.path.substr(1);
  if (database.find('/') != std::string::npos) {
    return invalid("the path of a postgresql: address is the name of one database, not " +
                   in_quotes(database));
  }
  if (!database.empty()) add(conninfo, "dbname", database);
  if (!url.user.empty()) add(conninfo, "user", url.user);
  if (!url.password.empty()) add(conninfo, "password", url.password);
  add(conninfo, "application_name", "lockset");
  add(conninfo, "client_encoding", "UTF8");

  Result<std::vector<std::string>> hosts = std::vector<std::string>{""};
  if (!url.hosts.empty()) hosts = read_hosts(url.hosts);
  if (!hosts) return hosts.error();
  // If there are several servers: the one that can be written to.
  if (hosts->size() > 1 && !url.params.contains("target_session_attrs")) {
    add(conninfo, "target_session_attrs", "read-write");
  }
  for (const std::string& one : *hosts) {
    std::string there = one;
    if (!there.empty()) there += ' ';
    options.conninfos.push_back(there.append(conninfo));
  }
  const auto host = url.params.find("host");
  options.shown = (url.user.empty() ? "" : url.user + "@") +
                  (url.hosts.empty() && host != url.params.end() ? host->second : url.hosts) + "/" +
                  database + ", space " + options.space;
  return options;
}

}  // namespace lockset::postgresql
