#include "backends/postgresql/settings.h"

#include "backends/findings.h"

namespace lockset::postgresql {
namespace {

using Level = Finding::Level;

constexpr int oldest_version = 120000;

}  // namespace

const char* const settings_columns =
    "current_setting('server_version_num')::int, current_setting('server_encoding'), "
    "current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_commit'), pg_is_in_recovery(), "
    "current_setting('transaction_read_only') = 'on', "
    "current_setting('client_min_messages') NOT IN ('error', 'fatal', 'panic')";

Settings read_settings(const pqxx::row& row, int first) {
  const auto column = [&](int i) { return row[static_cast<pqxx::row::size_type>(first + i)]; };
  Settings settings;
  settings.version = column(0).as<int>();
  settings.encoding = column(1).as<std::string>();
  settings.fsync = column(2).as<std::string>();
  settings.full_page_writes = column(3).as<std::string>();
  settings.synchronous_commit = column(4).as<std::string>();
  settings.standby = column(5).as<bool>();
  settings.read_only = column(6).as<bool>();
  settings.warns = column(7).as<bool>();
  return settings;
}

std::vector<Finding> judge(const Settings& settings, bool all) {
  std::vector<Finding> findings;
  const auto say = [&](bool fit, Level level, const std::string& subject,
                       const std::string& as_it_is, const std::string& trouble) {
    if (!fit || all) findings.push_back(findings::good_if(fit, level, subject, as_it_is, trouble));
  };
  const std::string version =
      std::to_string(settings.version / 10000) + "." + std::to_string(settings.version % 10000);
  say(settings.version >= oldest_version, Level::unsafe, "server version", version,
      version + " is too old: Lockset needs PostgreSQL 12 or newer");
  say(settings.encoding == "UTF8", Level::unsafe, "server_encoding", settings.encoding,
      "the database has the encoding " + settings.encoding +
          ", and names need UTF8: make another database");
  say(!settings.standby, Level::unsafe, "role", "primary",
      "this server is a standby, which grants nothing: name the primary");
  say(settings.standby || !settings.read_only, Level::unsafe, "default_transaction_read_only",
      "off", "on, so nothing can be granted: set it off for this user");
  say(settings.fsync == "on", Level::unsafe, "fsync", settings.fsync,
      settings.fsync + ": a crash may lose grants and repeat stamps: set fsync=on");
  say(settings.synchronous_commit != "off" && settings.synchronous_commit != "local", Level::unsafe,
      "synchronous_commit", settings.synchronous_commit,
      settings.synchronous_commit +
          ": a crash or failover may lose grants and repeat stamps: set it on, at least for this "
          "user (ALTER ROLE ... SET synchronous_commit = on)");
  if (!settings.warns) {
    findings.push_back({Level::unsafe, "client_min_messages",
                        "error: the warning that a commit is on this server alone, and not on its "
                        "standby, would not be heard: ALTER ROLE ... SET client_min_messages = "
                        "warning for this user"});
  }
  say(settings.full_page_writes == "on", Level::warning, "full_page_writes",
      settings.full_page_writes,
      settings.full_page_writes +
          ": a power cut may damage the database unless the disk writes whole pages");
  return findings;
}

}  // namespace lockset::postgresql
