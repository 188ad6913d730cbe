#include "backends/mysql/doctor.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "backends/findings.h"
#include "backends/mysql/errors.h"
#include "backends/mysql/rights.h"
#include "backends/mysql/schema.h"
#include "backends/mysql/sql.h"
#include "backends/server/lanes.h"
#include "backends/server/server_clock.h"

namespace lockset::mysql {
namespace {

using namespace findings;

// Names differ between servers and versions; a variable that is missing has no entry.
class Variables {
 public:
  void add(const Reply& answer) {
    for (std::size_t row = 0; row < answer.rows.size(); ++row) {
      values_[answer.text(0, row)] = answer.text(1, row);
    }
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    const auto value = values_.find(name);
    return value == values_.end() ? "" : value->second;
  }
  [[nodiscard]] bool on(const std::string& name) const {
    const std::string value = get(name);
    return value == "ON" || value == "1";
  }
  [[nodiscard]] long number(const std::string& name) const {
    return std::strtol(get(name).c_str(), nullptr, 10);
  }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }

 private:
  std::map<std::string, std::string> values_;
};

class Examination {
 public:
  Examination(Connection& connection, const Options& options, TimePoint by)
      : connection_(connection), options_(options), by_(by) {}

  Result<std::vector<Finding>> run() {
    if (Status status = ask(); !status) return status.error();
    server();
    durability();
    writer();
    transactions();
    clock();
    capacity();
    if (Status status = connection(); !status) return status.error();
    waiting();
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void check(bool fit, Level otherwise, const std::string& subject, const std::string& as_it_is,
             const std::string& trouble) {
    add(good_if(fit, otherwise, subject, as_it_is, trouble));
  }
  // For variables that every server has.
  bool could_read(const std::string& variable, Level otherwise) {
    if (variables_.has(variable)) return true;
    add(unreadable(otherwise, variable, "the server's answer leaves it out"));
    return false;
  }

  Result<Reply> say(const std::string& sql) {
    CallFailure failure;
    return connection_.run(sql, Sent::reading, by_, failure);
  }

  Status ask() {
    // The server itself is asked whether time passes within a statement: with --sysdate-is-now it
    // does not, and MySQL has no variable that tells.
    asked_us_ = server::calendar_us();
    const Result<Reply> facts =
        say("SELECT VERSION(), @@version_comment, SYSDATE(6) < SYSDATE(6) + INTERVAL SLEEP(0.002) "
            "SECOND OR SYSDATE(6) > NOW(6), CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)");
    answered_us_ = server::calendar_us();
    if (!facts) return facts.error();
    version_ = facts->text(0);
    maria_ = version_.find("MariaDB") != std::string::npos ||
             facts->text(1).find("MariaDB") != std::string::npos;
    time_passes_ = facts->number(2) == 1;
    server_us_ = facts->number(3);
    const Result<Reply> variables =
        say("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', "
            "'innodb_doublewrite', 'innodb_deadlock_detect', 'innodb_rollback_on_timeout', "
            "'innodb_force_recovery', 'sync_binlog', 'log_bin', 'binlog_format', 'read_only', "
            "'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only', "
            "'offline_mode', 'wsrep_on', "
            "'auto_increment_increment', 'innodb_autoinc_lock_mode', 'max_connections', "
            "'wait_timeout', 'max_allowed_packet', 'innodb_redo_log_enabled')");
    if (!variables) return variables.error();
    variables_.add(*variables);
    const Result<Reply> status =
        say("SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'wsrep_cluster_size', "
            "'Innodb_redo_log_enabled')");
    if (!status) return status.error();
    variables_.add(*status);
    const Result<Reply> cipher = say("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    if (!cipher) return cipher.error();
    variables_.add(*cipher);
    return {};
  }

  void server() {
    char* rest = nullptr;
    const long major = std::strtol(version_.c_str(), &rest, 10);
    const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
    const bool known = maria_ ? major > 10 || (major == 10 && minor >= 6) : major >= 8;
    check(known, Level::unsafe, "version", (maria_ ? "" : "MySQL ") + version_,
          version_ + " is older than what Lockset works with: MySQL 8.0 or MariaDB 10.6");
  }

  void durability() {
    if (could_read("innodb_flush_log_at_trx_commit", Level::unsafe)) {
      check(
          variables_.get("innodb_flush_log_at_trx_commit") == "1", Level::unsafe,
          "innodb_flush_log_at_trx_commit", "1: what was answered is on the disk",
          "not 1: a crash loses holds that were granted, and their stamps are given again; set it "
          "to 1");
    }
    if (could_read("sync_binlog", Level::warning)) {
      check(!variables_.on("log_bin") || variables_.number("sync_binlog") == 1, Level::warning,
            "sync_binlog", variables_.on("log_bin") ? "1" : "the binary log is off",
            "not 1: replicas and backups from the binary log may lack holds that were granted; set "
            "it to 1");
    }
    const std::string doublewrite = variables_.get("innodb_doublewrite");
    if (could_read("innodb_doublewrite", Level::warning)) {
      check(doublewrite != "OFF" && doublewrite != "0" && doublewrite != "DETECT_ONLY",
            Level::warning, "innodb_doublewrite", "on",
            "off: a power cut may leave torn pages, unless the file system prevents it");
    }
    if (variables_.has("Innodb_redo_log_enabled")) {
      check(variables_.on("Innodb_redo_log_enabled"), Level::unsafe, "redo log", "on",
            "off: a crash loses everything; ALTER INSTANCE ENABLE INNODB REDO_LOG");
    }
    if (could_read("innodb_force_recovery", Level::unsafe)) {
      check(variables_.number("innodb_force_recovery") == 0, Level::unsafe, "innodb_force_recovery",
            "0", "not 0: the server mends itself and can't be relied on; restart it without");
    }
  }

  void writer() {
    // `read_only` alone lets privileged users write. They must not write to a replica either, so
    // our procedures check it themselves. Some values are words other than on and off (MariaDB 12).
    const std::string read_only = variables_.get("read_only");
    const bool writable = (read_only == "OFF" || read_only == "0") &&
                          !variables_.on("super_read_only") && !variables_.on("innodb_read_only");
    if (could_read("read_only", Level::unsafe) && could_read("innodb_read_only", Level::unsafe)) {
      check(writable, Level::unsafe, "read_only", "off",
            "on: the server is a replica or closed; name the one that is written to");
    }
    // MariaDB before 11.1 has only the old name.
    if (variables_.has("tx_read_only") || could_read("transaction_read_only", Level::unsafe)) {
      check(!variables_.on("transaction_read_only") && !variables_.on("tx_read_only"),
            Level::unsafe, "transaction_read_only", "off",
            "on: new sessions may only read; SET GLOBAL transaction_read_only = 0 (MariaDB: "
            "tx_read_only), or name the server that is written to");
    }
    if (variables_.on("wsrep_on")) {
      check(options_.single_writer, Level::unsafe, "wsrep_on",
            "a Galera cluster, of which the address says that only this server is written to",
            "on: two servers of a Galera cluster grant the same name at once; send all clients to "
            "one server and say so with single_writer=on");
    }
    if (could_read("log_bin", Level::warning)) {
      check(
          !variables_.on("log_bin"), Level::warning, "replication", "the binary log is off",
          "the binary log is on: after a failover to a replica that lagged, the last holds are "
          "gone and their stamps may come again; fail over with semi-synchronous replication only, "
          "or wait for the space's longest lease");
    }
    if (could_read("auto_increment_increment", Level::warning)) {
      check(variables_.number("auto_increment_increment") <= 1, Level::warning,
            "auto_increment_increment", "1",
            "greater than 1: a sign of several writers, of which only one may serve this space");
    }
  }

  void transactions() {
    check(!variables_.on("log_bin") || variables_.get("binlog_format") != "STATEMENT",
          Level::unsafe, "binlog_format",
          variables_.on("log_bin") ? variables_.get("binlog_format") : "the binary log is off",
          "STATEMENT: it can't log READ COMMITTED transactions, every call fails; set ROW or "
          "MIXED");
    if (variables_.has("innodb_deadlock_detect")) {
      check(variables_.on("innodb_deadlock_detect"), Level::warning, "innodb_deadlock_detect", "on",
            "off: with strategy=unique-index a deadlock lasts for innodb_lock_wait_timeout");
    }
  }

  void clock() {
    check(time_passes_, Level::unsafe, "sysdate-is-now", "off",
          "the server runs with --sysdate-is-now: it judges leases by the time before a wait; "
          "start it without");
    add(server::examine_clock(server_us_, asked_us_, answered_us_));
  }

  void capacity() {
    if (could_read("max_connections", Level::warning) &&
        could_read("Threads_connected", Level::warning)) {
      add(room("max_connections", variables_.number("Threads_connected"),
               variables_.number("max_connections"),
               static_cast<long>(server::most_connections(options_.pool, true))));
    }
    if (could_read("wait_timeout", Level::warning)) {
      check(variables_.number("wait_timeout") >= 60, Level::warning, "wait_timeout",
            variables_.get("wait_timeout") + " s",
            variables_.get("wait_timeout") + " s: idle connections are cut all the time; raise it");
    }
  }

  void waiting() {
    if (options_.strategy == Strategy::session) {
      check(!variables_.on("wsrep_on"), Level::unsafe, "sessions",
            "holds are user-level locks; the server ends the sessions of stopped clients "
            "(wait_timeout)",
            "strategy=session keeps its holds in user-level locks, which a Galera cluster does not "
            "support: leave the strategy out of the address");
      return;
    }
    add(good("waiting",
             "waiters are woken over a connection that each waiting client keeps for it; between "
             "clients of different accounts this takes up to a second"));
  }

  Status connection() {
    const bool encrypted = !variables_.get("Ssl_cipher").empty();
    const bool verified = options_.ssl_mode >= SslMode::verify_ca;
    const bool local = !options_.socket.empty();
    add(encryption(local, encrypted && verified,
                   encrypted ? "TLS, but the server's certificate is not verified: set "
                               "ssl_mode=verify_identity and ssl_ca"
                             : "none: set ssl_mode=verify_identity and ssl_ca, unless the network "
                               "is trusted"));
    check(connection_.has_deadlines(), Level::warning, "deadlines", "each call has its own",
          "the connection's socket could not be found: calls to a server that does not answer "
          "end after 30 s");
    const Result<Reply> same = say("SELECT @@time_zone, CONNECTION_ID() > 0");
    if (!same) return same.error();
    check(same->text(0) == "+00:00", Level::unsafe, "pooler", "none seen",
          "the session forgets its settings between statements: a pooler or proxy multiplexes; "
          "connect to the server itself");
    return {};
  }

  Connection& connection_;
  const Options& options_;
  const TimePoint by_;
  Variables variables_;
  std::string version_;
  bool maria_ = false;
  bool time_passes_ = false;
  std::int64_t server_us_ = 0;
  // When the server was asked, and when it answered, by this host's calendar.
  std::int64_t asked_us_ = 0;
  std::int64_t answered_us_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

Result<std::vector<Finding>> examine_server(Connection& connection, const Options& options,
                                            TimePoint by) {
  return Examination(connection, options, by).run();
}

Result<std::vector<Finding>> examine(const Options& options, TimePoint by) {
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(options, watchdog, by);
  if (!connection) return connection.error();
  Result<std::vector<Finding>> findings = examine_server(**connection, options, by);
  if (!findings) return findings;
  findings->push_back(examine_schema(**connection, options, by));
  if (findings->back().level != Finding::Level::good) return findings;
  for (Finding& finding : examine_rights(**connection, options, by)) {
    findings->push_back(std::move(finding));
  }
  return findings;
}

Result<bool> is_crowded(Connection& connection, const Options& options, TimePoint by) {
  CallFailure failure;
  const Result<Reply> server = connection.run(
      filled_in("SELECT {writable} AND @@GLOBAL.innodb_read_only = 0, @@GLOBAL.max_connections",
                options.space),
      Sent::reading, by, failure);
  if (!server) return server.error();
  if (server->rows.size() != 1 || server->number(0) != 1) {
    Error error = error_from(not_writable, "read_only is on", options.shown(), Sent::nothing);
    error.code = Errc::unavailable;
    return error;
  }
  // The only way to ask that every server has and every user may use.
  const Result<Reply> used =
      connection.run("SHOW GLOBAL STATUS LIKE 'Threads_connected'", Sent::reading, by, failure);
  if (!used) return used.error();
  const std::int64_t most = server->number(1);
  return used->rows.size() == 1 && most - used->number(1) < most / 8;
}

Status refuse_unsafe(Connection& connection, const Options& options, TimePoint by) {
  const Result<std::vector<Finding>> findings = examine_server(connection, options, by);
  if (!findings) return findings.error();
  for (const Finding& finding : *findings) {
    if (finding.level != Level::unsafe) continue;
    return Error{Errc::misconfigured,
                 options.shown() + ": " + finding.subject + ": " + finding.text};
  }
  return {};
}

}  // namespace lockset::mysql
