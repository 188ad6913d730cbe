// PostgreSQL, with each strategy. Workers use a separate user with only the rights that the
// store's page lists; the observer is the administrator.
#include <memory>
#include <pqxx/pqxx>
#include <stdexcept>
#include <utility>

#include "backends/postgresql/pqxx_versions.h"
#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/server_store.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// Bypasses the code under test.
class Session {
 public:
  explicit Session(const std::string& url) : connection_(url), quiet_(connection_) {}
  pqxx::result run(const std::string& sql) {
    pqxx::nontransaction work(connection_);
    return work.exec(sql);
  }
  std::uint64_t number(const std::string& sql) { return run(sql)[0][0].as<std::uint64_t>(); }

 private:
  pqxx::connection connection_;
  postgresql::Quiet quiet_;
};

constexpr const char* workers = "FROM pg_stat_activity WHERE usename = 'chaos_worker'";

class PostgresqlStore final : public ServerStore {
 public:
  PostgresqlStore(const std::string& strategy, const StoreOptions& options)
      : ServerStore("postgresql:" + strategy, "postgresql", options),
        sessions_(strategy == "session"),
        parameters_("/lockset?sslmode=disable&space=chaos&strategy=" + strategy),
        password_(Token::random().hex()) {
    init_space(direct_url(), test::soon()).value();
    Session admin = session();
    admin.run("CREATE ROLE chaos_worker LOGIN PASSWORD '" + password_ + "'");
    grant();
    version_ = "PostgreSQL " + admin.run("SHOW server_version")[0][0].as<std::string>();
    make_network({{.port = server().port()}}, options.proxies);
    add_server_faults();
    add_sweep();
    add_session_faults();
    add_load();
    add_clock_faults();
    // All clients of a space with strategy=session are closed before it is restored.
    if (!sessions_) add_restores(vault());
    add_demotion(
        "default_transaction_read_only=on", [this] { read_only(true); },
        [this] { read_only(false); });
    if (sessions_) report_cuts({"server-kill", "server-stop", "sessions-killed", "sessions-dying"});
  }

  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return worker_at(network().hosts(worker)) + parameters_;
  }
  [[nodiscard]] std::string direct_url() const override {
    const std::string admin = server().admin_url();
    return admin.substr(0, admin.rfind('/')) + parameters_;
  }

  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules = ServerStore::rules();
    rules.snapshots_current = !sessions_;
    return rules;
  }

 private:
  [[nodiscard]] Left count() override {
    Session admin = session();
    if (sessions_) {
      // Those with one number of 64 bits.
      const std::string locks =
          std::string(
              "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 ") +
          "AND pid IN (SELECT pid " + workers + ") AND ";
      return {.holds = admin.number(locks + "granted"),
              .waiters = admin.number(locks + "NOT granted"),
              .connections = admin.number(std::string("SELECT count(*) ") + workers)};
    }
    return {.holds = admin.number("SELECT count(*) FROM chaos.locks"),
            .waiters = admin.number("SELECT count(*) FROM chaos.waiters") +
                       admin.number("SELECT count(*) FROM chaos.waiter_names"),
            .connections = admin.number(std::string("SELECT count(*) ") + workers)};
  }
  [[nodiscard]] std::string worker_at(const std::string& hosts) const {
    return "postgresql://chaos_worker:" + password_ + "@" + hosts;
  }
  [[nodiscard]] Session session() const { return Session(server().admin_url()); }

  // The rights of a program.
  void grant() const { allow(direct_url(), Role::programs, "chaos_worker", test::soon()).value(); }

  // New sessions find it so; a session that begins then comes after all others were told.
  void read_only(bool wanted) const {
    const std::string value = wanted ? "on" : "off";
    session().run("ALTER SYSTEM SET default_transaction_read_only = " + value);
    session().run("SELECT pg_reload_conf()");
    const bool done = test::eventually([&] {
      return session().run("SHOW default_transaction_read_only")[0][0].as<std::string>() == value;
    });
    if (!done) throw std::runtime_error("PostgreSQL does not read its configuration");
  }

  // As a person does it. pg_dump includes the rights.
  [[nodiscard]] Vault vault() {
    const std::string file = (server().folder() / "backup.sql").string();
    Vault vault;
    vault.back_up = [this, file] {
      run({"/usr/bin/pg_dump", "--schema=chaos", "--file=" + file,
           "--dbname=" + server().admin_url()});
    };
    vault.put_back = [this, file] {
      run({"/usr/bin/psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null",
           "--single-transaction", "--command=SET client_min_messages = warning",
           "--command=DROP SCHEMA chaos CASCADE", "--file=" + file, server().admin_url()});
    };
    vault.wipe = [this] {
      Session admin = session();
      admin.run("SET client_min_messages = warning");
      admin.run("DROP SCHEMA IF EXISTS chaos CASCADE");
      init_space(direct_url(), test::soon()).value();
      grant();
    };
    return vault;
  }

  void add_session_faults() {
    const auto each = [this](const std::string& call, const std::string& what) {
      return [this, call, what](Dice& dice) {
        const std::string share = std::to_string(real(dice, 0, 1));
        const auto hit = session().number("SELECT count(" + call + "(pid)) FROM (SELECT pid " +
                                          workers + " ORDER BY random() LIMIT 1 + " + share +
                                          " * (SELECT count(*) " + workers + ")) w");
        return what + " of " + std::to_string(hit) + " sessions";
      };
    };
    add("sessions-killed", FaultKind::session, 0s, 0s, each("pg_terminate_backend", "end"));
    add_repeated("calls-cancelled", FaultKind::session, 10ms, "calls of workers cancelled", [this] {
      session().run(std::string("SELECT pg_cancel_backend(pid) ") + workers +
                    " AND state = 'active' AND random() < 0.3");
    });
    add_repeated("sessions-dying", FaultKind::session, 50ms, "sessions end one after the other",
                 [this] {
                   session().run(std::string("SELECT pg_terminate_backend(pid) ") + workers +
                                 " AND random() < 0.1");
                 });
    // Takes whatever becomes free as well.
    add_repeated("connections-used-up", FaultKind::load, 20ms, "no connection is free",
                 [this] { take_connections(); });
    Fault& taking = faults().back();
    taking.begin = [this, go_on = taking.begin](Dice& dice) {
      try {
        take_connections();  // on a slow machine this may take longer than the fault lasts
      } catch (...) {
        taken_.clear();
        throw;
      }
      return go_on(dice);
    };
    taking.end = [this, stop = taking.end] {
      stop();
      taken_.clear();
    };
    // With strategy=session, from answering questions.
    add(
        sessions_ ? "answers-locked" : "rows-locked", FaultKind::load, lease() / 20,
        lease() * 3 / 2,
        [this](Dice&) {
          blocker_ = std::make_unique<Session>(server().admin_url());
          blocker_->run("BEGIN");
          blocker_->run("LOCK TABLE chaos." + tables().front() + " IN SHARE ROW EXCLUSIVE MODE");
          return std::string("somebody's transaction keeps all others from writing");
        },
        [this] { blocker_.reset(); });
  }

  // Until no connection is left. Without TLS, because hundreds of handshakes take long.
  void take_connections() {
    constexpr std::size_t more_than_there_are = 500;  // scripts/server: max_connections = 300
    const std::string address = worker_at(server_host()) + "/lockset?sslmode=disable";
    try {
      while (taken_.size() < more_than_there_are) {
        taken_.push_back(std::make_unique<Session>(address));
      }
    } catch (const pqxx::broken_connection&) {  // that was the last one
      return;
    }
    throw std::runtime_error("connections are there without end");
  }

  // Those that are written to.
  [[nodiscard]] std::vector<std::string> tables() const {
    if (sessions_) return {"session_holds", "session_clients", "session_ended"};
    return {"locks", "waiters", "waiter_names"};
  }

  void add_load() {
    for (const std::string& table : tables()) {
      add_repeated("vacuum-" + dashed(table), FaultKind::load, 5ms, "VACUUM and ANALYZE",
                   [this, table] { session().run("VACUUM (ANALYZE) chaos." + table); });
    }
    add_repeated("vacuum-full", FaultKind::load, 200ms, "VACUUM FULL and CHECKPOINT", [this] {
      session().run("VACUUM (FULL) chaos." + tables().front());
      session().run("CHECKPOINT");
    });
  }

  static std::string dashed(std::string text) {
    for (char& each : text) each = each == '_' ? '-' : each;
    return text;
  }
  [[nodiscard]] std::string server_host() const {
    return "127.0.0.1:" + std::to_string(server().port());
  }

  const bool sessions_;
  const std::string parameters_;
  const std::string password_;
  std::string version_;
  std::vector<std::unique_ptr<Session>> taken_;
  std::unique_ptr<Session> blocker_;
};

Kind kind(const std::string& strategy) {
  return {"postgresql:" + strategy,
          [](const StoreOptions& options) {
            return ServerStore::server_unavailable("postgresql", options);
          },
          [strategy](const StoreOptions& options) {
            return std::make_unique<PostgresqlStore>(strategy, options);
          }};
}

}  // namespace

std::vector<Kind> postgresql_kinds() {
  return {kind("advisory"), kind("serializable"), kind("session")};
}

}  // namespace lockset::chaos
