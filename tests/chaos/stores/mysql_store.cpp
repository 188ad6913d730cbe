// MySQL and MariaDB, each with all strategies. Workers use a separate user with only the rights
// that the store's page lists; the observer is the administrator. The procedures belong to a third
// one, as whom nobody logs in.
#include <memory>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/server_store.h"
#include "tests/mysql/raw_client.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;
using test::RawMysql;

// While a procedure runs, the list of processes shows its definer instead. So do the observer's,
// but it uses the Unix socket, and those have no port.
const std::string workers =
    "FROM information_schema.processlist WHERE user IN ('chaos_worker', 'chaos_definer') AND host "
    "LIKE '%:%'";

class MysqlStore final : public ServerStore {
 public:
  MysqlStore(const std::string& kind, const std::string& strategy, const StoreOptions& options)
      : ServerStore(kind + ":" + strategy, kind, options),
        sessions_(strategy == "session"),
        parameters_("/lockset?ssl_mode=disabled&space=chaos&strategy=" + strategy),
        password_(Token::random().hex()) {
    RawMysql admin = session();
    for (const std::string user : {"chaos_worker", "chaos_definer"}) {
      admin.rows("CREATE USER " + user + "@'%' IDENTIFIED BY '" + password_ + "'");
    }
    // With all rights, so that nothing but the procedures themselves keeps them from writing to a
    // server that is read-only.
    admin.rows("GRANT ALL PRIVILEGES ON *.* TO chaos_definer@'%' WITH GRANT OPTION");
    init_space(definer_url(), test::soon()).value();
    grant();
    version_ = (kind == "mysql" ? "MySQL " : "MariaDB ") + admin.value("SELECT VERSION()");
    make_network({{.port = server().port()}}, options.proxies);
    add_server_faults();
    add_sweep();
    add_session_faults();
    add_load();
    add_clock_faults();
    // All clients of a space with strategy=session are closed before it is restored.
    if (!sessions_) add_restores(vault());
    add_demotion(
        "read_only=1", [this] { session().rows("SET GLOBAL read_only = 1"); },
        [this] { session().rows("SET GLOBAL read_only = 0"); });
    if (sessions_) report_cuts({"server-kill", "server-stop", "sessions-killed", "sessions-dying"});
  }

  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return worker_at(network().hosts(worker)) + parameters_;
  }
  [[nodiscard]] std::string direct_url() const override {
    const std::string admin = server().admin_url();
    return admin.substr(0, admin.rfind('/')) + parameters_ +
           "&socket=" + (server().folder() / "socket" / "mysqld.sock").string();
  }
  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules = ServerStore::rules();
    rules.snapshots_current = !sessions_;
    return rules;
  }
  [[nodiscard]] Left count() override {
    RawMysql admin = session();
    const std::string holds =
        sessions_ ? "chaos_session_holds WHERE IS_USED_LOCK(lock_name) IS NOT NULL" : "chaos_locks";
    return {.holds = static_cast<std::uint64_t>(admin.number("SELECT COUNT(*) FROM " + holds)),
            .connections = static_cast<std::uint64_t>(admin.number("SELECT COUNT(*) " + workers))};
  }

 private:
  [[nodiscard]] std::string worker_at(const std::string& hosts) const {
    return "mysql://chaos_worker:" + password_ + "@" + hosts;
  }
  [[nodiscard]] std::string definer_url() const {
    return "mysql://chaos_definer:" + password_ + "@" + server_host() + parameters_;
  }
  [[nodiscard]] std::string server_host() const {
    return "127.0.0.1:" + std::to_string(server().port());
  }
  [[nodiscard]] RawMysql session() const { return RawMysql(server().admin_url()); }

  // The rights of a program.
  void grant() const { allow(definer_url(), Role::programs, "chaos_worker", test::soon()).value(); }

  // Row by row, from all tables at one moment: what a dump contains, without the dump program.
  [[nodiscard]] Vault vault() {
    Vault vault;
    vault.back_up = [this] {
      RawMysql admin = session();
      admin.rows("DROP DATABASE IF EXISTS lockset_backup");
      admin.rows("CREATE DATABASE lockset_backup");
      for (const std::string& table : tables(admin)) {
        admin.rows("CREATE TABLE lockset_backup." + table + " LIKE lockset." + table);
      }
      copy_rows(admin, "lockset", "lockset_backup");
    };
    vault.put_back = [this] {
      drop_and_init();
      RawMysql admin = session();
      copy_rows(admin, "lockset_backup", "lockset");
      grant();
    };
    vault.wipe = [this] {
      drop_and_init();
      grant();
    };
    return vault;
  }
  void drop_and_init() const {
    RawMysql admin = session();
    admin.rows("DROP DATABASE IF EXISTS lockset");
    admin.rows("CREATE DATABASE lockset");
    init_space(definer_url(), test::soon()).value();
  }
  static std::vector<std::string> tables(RawMysql& admin) {
    std::vector<std::string> names;
    for (const auto& row : admin.rows("SELECT table_name FROM information_schema.tables WHERE "
                                      "table_schema = 'lockset' AND table_name LIKE 'chaos%'")) {
      names.push_back(row.front().value());
    }
    return names;
  }
  static void copy_rows(RawMysql& admin, const std::string& from, const std::string& to) {
    std::string locks;
    const std::vector<std::string> names = tables(admin);
    for (const std::string& name : names) {
      locks += (locks.empty() ? "LOCK TABLES " : ", ") + from + "." + name + " READ, " + to + "." +
               name + " WRITE";
    }
    admin.rows(locks);
    for (const std::string& name : names) {
      admin.rows("DELETE FROM " + to + "." + name);
      admin.rows("INSERT INTO " + to + "." + name + " SELECT * FROM " + from + "." + name);
    }
    admin.rows("UNLOCK TABLES");
  }

  // Ends some of the workers' sessions, at least one. Returns their number.
  std::size_t kill(const std::string& what, double share) {
    RawMysql admin = session();
    std::size_t hit = 0;
    const double number = share * static_cast<double>(admin.number("SELECT COUNT(*) " + workers));
    for (const auto& row : admin.rows("SELECT id " + workers + " ORDER BY RAND() LIMIT " +
                                      std::to_string(1 + static_cast<int>(number)))) {
      // It may be gone already.
      if (admin.code_of("KILL " + what + " " + row.front().value()) == 0) ++hit;
    }
    return hit;
  }

  void add_session_faults() {
    add("sessions-killed", FaultKind::session, 0s, 0s, [this](Dice& dice) {
      return "end of " + std::to_string(kill("CONNECTION", real(dice, 0, 1))) + " sessions";
    });
    add_repeated("sessions-dying", FaultKind::session, 50ms, "sessions end one after the other",
                 [this] { kill("CONNECTION", 0.1); });
    add_repeated("calls-cancelled", FaultKind::session, 10ms, "calls of workers cancelled",
                 [this] { kill("QUERY", 0.3); });
    add(
        "connections-used-up", FaultKind::load, lease() / 2, 2 * lease(),
        [this](Dice&) {
          // Existing sessions stay, including the one that undoes this.
          limiter_ = std::make_unique<RawMysql>(server().admin_url());
          limiter_->rows("SET GLOBAL max_connections = 10");  // the lowest possible value
          try {
            while (taken_.size() < 10) {
              taken_.push_back(std::make_unique<RawMysql>(worker_at(server_host()) + "/lockset"));
            }
          } catch (const std::exception&) {  // that was the last one
          }
          return std::string("no connection is free");
        },
        [this] {
          if (limiter_ == nullptr) return;
          taken_.clear();
          limiter_->rows("SET GLOBAL max_connections = 300");
          limiter_.reset();
        });
    // With strategy=session, those by which clients answer questions.
    add(
        sessions_ ? "answers-locked" : "rows-locked", FaultKind::load, lease() / 20,
        lease() * 3 / 2,
        [this](Dice&) {
          blocker_ = std::make_unique<RawMysql>(server().admin_url());
          blocker_->rows("BEGIN");
          blocker_->rows("SELECT * FROM " + busy_tables().back() + " FOR UPDATE");
          return std::string("somebody's transaction holds all rows");
        },
        [this] { blocker_.reset(); });
  }

  // Those that are written to most.
  [[nodiscard]] std::vector<std::string> busy_tables() const {
    if (sessions_) return {"chaos_session_holds", "chaos_session_clients"};
    return {"chaos_locks", "chaos_names"};
  }
  [[nodiscard]] std::string both_tables() const {
    return busy_tables().front() + ", " + busy_tables().back();
  }

  void add_load() {
    add_repeated("analyze", FaultKind::load, 5ms, "ANALYZE",
                 [this] { session().rows("ANALYZE TABLE " + both_tables()); });
    add_repeated("optimize", FaultKind::load, 200ms, "tables made anew",
                 [this] { session().rows("OPTIMIZE TABLE " + both_tables()); });
    add_repeated("flush", FaultKind::load, 50ms, "tables closed and caches cleared",
                 [this] { session().rows("FLUSH TABLES"); });
  }

  const bool sessions_;
  const std::string parameters_;
  const std::string password_;
  std::string version_;
  std::unique_ptr<RawMysql> blocker_;
  std::unique_ptr<RawMysql> limiter_;
  std::vector<std::unique_ptr<RawMysql>> taken_;
};

Kind kind(const std::string& server, const std::string& strategy) {
  return {server + ":" + strategy,
          [server](const StoreOptions& options) {
            return ServerStore::server_unavailable(server, options);
          },
          [server, strategy](const StoreOptions& options) {
            return std::make_unique<MysqlStore>(server, strategy, options);
          }};
}

}  // namespace

std::vector<Kind> mysql_kinds() {
  return {kind("mariadb", "select-for-update"), kind("mariadb", "unique-index"),
          kind("mariadb", "session"),           kind("mysql", "select-for-update"),
          kind("mysql", "unique-index"),        kind("mysql", "session")};
}

}  // namespace lockset::chaos
