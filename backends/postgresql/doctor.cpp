#include "backends/postgresql/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <pqxx/pqxx>

#include "backends/findings.h"
#include "backends/postgresql/connection.h"
#include "backends/postgresql/rights.h"
#include "backends/postgresql/script.h"
#include "backends/postgresql/settings.h"
#include "backends/server/lanes.h"
#include "backends/server/server_clock.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/lock_set.h"

namespace lockset::postgresql {
namespace {

using namespace findings;

// Whether this user may do a program's work, and an operator's; whether everyone may call more than
// about(); whether another role may put something into the schema, or has done so.
std::string rights_columns(const std::string& space) {
  const std::string version = "_v" + std::to_string(schema_version);
  // A space with strategy=session has its acquire under another name.
  const auto may = [&](const std::string& function) {
    return "bool_and(has_function_privilege(p.oid, 'EXECUTE')) FILTER (WHERE p.proname IN ('" +
           function + version + "', 'session_" + function + version + "')), ";
  };
  return "SELECT " + may("acquire") + may("change_config") +
         "bool_or(p.proname <> 'about' AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, "
         "acldefault('f', p.proowner))) a WHERE a.grantee = 0)), "
         "bool_or(p.proowner <> n.nspowner) OR "
         "EXISTS (SELECT FROM pg_namespace s, aclexplode(s.nspacl) a WHERE s.nspname = '" +
         space +
         "' AND a.privilege_type = 'CREATE' AND a.grantee <> s.nspowner) OR "
         "EXISTS (SELECT FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE "
         "s.nspname = '" +
         space +
         "' AND (c.relowner <> s.nspowner OR EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = "
         "c.oid AND NOT t.tgisinternal) OR EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE "
         "a.grantee <> c.relowner AND a.privilege_type <> 'SELECT'))) "
         "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '" +
         space + "'";
}

class Examination {
 public:
  Examination(const Options& options, Connection& connection, TimePoint by)
      : options_(options), connection_(connection), by_(by) {}

  Result<std::vector<Finding>> run() {
    if (Status status = look_at_settings(); !status) return status.error();
    look_at_encryption();
    look_at_pooler();
    look_at_space();
    look_at_sessions();
    look_at_replication();
    look_at_quarantine();
    look_at_room();
    look_at_upkeep();
    look_at_clock();
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void warn_unless(bool fit, std::string subject, std::string as_it_is, std::string trouble) {
    add(good_if(fit, Level::warning, std::move(subject), std::move(as_it_is), std::move(trouble)));
  }

  Result<pqxx::result> ask(const std::string& sql) {
    return connection_.run(std::string(safe_path) + sql, Sent::reading, by_, failure_);
  }
  // The row of a statement that gives one. If the statement fails, a finding says so, and the rest
  // goes on.
  std::optional<pqxx::row> row_of(const std::string& subject, const std::string& sql) {
    Result<pqxx::result> result = ask(sql);
    if (result && !result->empty()) return pqxx::row((*result)[0]);
    add(unreadable(Level::warning, subject, result ? "no answer" : result.error().message));
    return {};
  }

  Status look_at_settings() {
    const Result<pqxx::result> result = ask(std::string("SELECT ") + settings_columns);
    if (!result) return result.error();
    Settings settings = read_settings(pqxx::row((*result)[0]), 0);
    settings.warns = settings.warns || !options_.pooler;
    for (Finding& finding : judge(settings, true)) {
      findings_.push_back(std::move(finding));
    }
    return {};
  }

  // Behind a pooler the server sees the pooler's connection; what the address demands applies to
  // ours.
  void look_at_encryption() {
    const auto row = row_of("encryption",
                            "SELECT inet_client_addr() IS NULL, coalesce((SELECT ssl FROM "
                            "pg_stat_ssl WHERE pid = pg_backend_pid()), false)");
    if (!row) return;
    const bool local = (*row)[0].as<bool>() && !options_.pooler;
    const bool encrypted = (*row)[1].as<bool>() && !options_.pooler;
    const bool verified = verifies_server();
    add(encryption(local, verified,
                   encrypted ? "TLS, but the server's certificate is not verified: set "
                               "sslmode=verify-full and sslrootcert"
                             : "not required by the address: set sslmode=verify-full and "
                               "sslrootcert, unless the network is trusted"));
  }

  // If so, libpq connects with a verified certificate or not at all.
  [[nodiscard]] bool verifies_server() const {
    const char* const usual = std::getenv("PGSSLMODE");
    return std::all_of(options_.conninfos.begin(), options_.conninfos.end(),
                       [&](const std::string& conninfo) {
                         if (conninfo.find("sslmode='verify-") != std::string::npos) return true;
                         return conninfo.find("sslmode=") == std::string::npos &&
                                usual != nullptr && std::string_view(usual).starts_with("verify-");
                       });
  }

  void look_at_pooler() {
    const auto row = row_of("pooler", "SELECT pg_backend_pid()");
    if (!row) return;
    const bool pooled = (*row)[0].as<int>() != connection_.native().backendpid();
    if (pooled && !options_.pooler) {
      add(unsafe("pooler",
                 "a connection pooler stands between, and programs refuse it: add pooler=on to the "
                 "address, or name the server itself"));
      return;
    }
    warn_unless(
        !options_.pooler, "pooler",
        "none; waiters are " + std::string(options_.listen ? "woken" : "left to poll (listen=off)"),
        std::string(pooled ? "stands between" : "pooler=on, though none was seen") +
            ": statements are not prepared, no session settings, " +
            (options_.listen ? "and LISTEN works in session mode only"
                             : "and waiters poll instead of being woken"));
  }

  void look_at_space() {
    const Result<Ownership> found = ownership(connection_, options_, by_);
    if (!found || (found->there && !(found->trusted && found->about))) {
      add(unsafe("space", found ? not_trusted(options_, *found).message : found.error().message));
      return;
    }
    const Result<pqxx::result> about =
        ask("SELECT split_part(a, chr(31), 1)::int, split_part(a, chr(31), 2), "
            "split_part(a, chr(31), 3), split_part(a, chr(31), 4) FROM \"" +
            options_.space + "\".about() a");
    if (!about) {
      const bool denied = failure_.sqlstate == "42501";
      add(denied ? unsafe("space",
                          not_allowed(options_, Role::programs, connection_.user(), failure_.said)
                              .message)
                 : no_space(Level::unsafe, about.error().message));
      return;
    }
    const int version = (*about)[0][0].as<int>(-1);
    const std::string strategy = (*about)[0][1].as<std::string>("");
    if (version < 0) {
      add(unsafe("space", is_incomplete(options_.shown).message));
      return;
    }
    if (version != schema_version) {
      add(unsafe("space",
                 "has version " + std::to_string(version) +
                     " of the schema, and this program serves " + std::to_string(schema_version) +
                     (version > schema_version ? ": use a newer program" : ": run lockset init")));
      return;
    }
    trusts_standbys_ = (*about)[0][3].as<std::string>("") == to_string(FailoverMeans::synchronous);
    const Strategy made = strategy_from(strategy).value_or(Strategy::advisory);
    strategy_ = made;
    warn_unless(
        (*about)[0][2].as<std::string>("") == script_digest(options_.space, made), "space",
        options_.space + ", schema version " + std::to_string(version) + ", strategy=" + strategy,
        "its functions differ from those that this program installs: run lockset init");
    look_at_rights(found->owner, found->mine);
  }

  void look_at_rights(const std::string& owner, bool mine) {
    const auto row = row_of("rights", rights_columns(options_.space));
    if (!row) return;
    const std::string user = in_quotes(connection_.user());
    const std::string remedy = ": have " + in_quotes(owner) + " run lockset init";
    if (!(*row)[0].as<bool>(false)) {
      add(unsafe("rights", not_allowed(options_, Role::programs, connection_.user(),
                                       "permission denied for the functions of the space")
                               .message));
    } else if ((*row)[2].as<bool>()) {
      add(warning("rights",
                  "everybody who may use the schema may call its functions, an operator's too (a "
                  "backup put back without its rights?)" +
                      remedy +
                      ", then lockset init --program and --operator for those who need "
                      "them"));
    } else if ((*row)[3].as<bool>()) {
      add(warning("rights",
                  "others than the owner may make something in the schema or change its tables, "
                  "or have: what they make may run with the owner's rights" +
                      remedy));
    } else if (mine) {
      add(findings::owner(user));
    } else {
      add(rights(user, (*row)[1].as<bool>(false) ? Role::operators : Role::programs));
    }
  }

  // What strategy=session needs of the server and of what stands between.
  void look_at_sessions() {
    if (strategy_ != Strategy::session) return;
    if (options_.pooler) {
      add(unsafe("sessions",
                 "strategy=session keeps its holds in sessions of the server, which a pooler gives "
                 "to others: name the server itself, without pooler=on"));
      return;
    }
    const auto row = row_of("sessions", "SELECT current_setting('server_version_num')::int");
    if (!row) return;
    const bool ends_idle = (*row)[0].as<int>() >= 140000;
    add(good_if(ends_idle, Level::unsafe, "sessions",
                "the server ends those of stopped clients (idle_session_timeout)",
                "strategy=session needs idle_session_timeout, which PostgreSQL has since 14"));
  }

  void look_at_replication() {
    const auto row =
        row_of("replication",
               "SELECT current_setting('synchronous_standby_names') <> '', "
               "(SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical') + "
               "(SELECT count(*) FROM pg_stat_replication)");
    if (!row) return;
    const bool synchronous = (*row)[0].as<bool>();
    const bool followed = (*row)[1].as<std::int64_t>() > 0;
    if (strategy_ == Strategy::session) {
      warn_unless(!followed, "replication", "no standby is connected",
                  "standbys follow: a failover, a synchronous one too, ends all holds before their "
                  "holders notice, so that a name may be granted twice");
      return;
    }
    if (trusts_standbys_ && !synchronous) {
      add(warning("failover",
                  "the space has failover=synchronous, but synchronous_standby_names is empty: a "
                  "failover grants names twice; set it, or have the owner run lockset init with "
                  "failover=quarantine"));
    }
    warn_unless(
        synchronous || !followed, "replication",
        synchronous ? "synchronous" : "no standby is connected",
        "standbys follow, but not synchronously: a failover loses the last grants, so that nothing "
        "is granted for the longest lease afterwards, and a primary that is only cut off from its "
        "standby grants names twice; set synchronous_standby_names");
  }

  // Asking begins it, as the next call of a program would.
  void look_at_quarantine() {
    if (strategy_ == Strategy::session) return;
    const Result<pqxx::result> result = ask("SELECT \"" + options_.space + "\".quarantine_v" +
                                            std::to_string(schema_version) + "()");
    if (!result) return;  // there is no space, or it lacks this: other findings say so
    const std::int64_t left = (*result)[0][0].as<std::int64_t>();
    const std::string seconds = format_duration(std::chrono::seconds(left / 1'000'000 + 1));
    warn_unless(left == 0, "quarantine", "none",
                "the state was lost or may have been: no new grants for another " + seconds);
  }

  void look_at_room() {
    const auto row = row_of("max_connections",
                            "SELECT current_setting('max_connections')::int, "
                            "current_setting('superuser_reserved_connections')::int, "
                            "(SELECT sum(numbackends)::int FROM pg_stat_database), "
                            "current_setting('max_locks_per_transaction')::int");
    if (!row) return;
    add(room("max_connections", (*row)[2].as<int>(0), (*row)[0].as<int>() - (*row)[1].as<int>(),
             static_cast<long>(server::most_connections(options_.pool, options_.listen)),
             need_of_one()));
    const int locks = (*row)[3].as<int>();
    warn_unless(locks >= most_name_locks, "max_locks_per_transaction", std::to_string(locks),
                std::to_string(locks) +
                    ": many large sets at once may find no room for their locks; set " +
                    std::to_string(most_name_locks) + " or more");
  }

  // The connections of a process with one thread.
  [[nodiscard]] std::string need_of_one() const {
    if (strategy_ == Strategy::session) {
      return "a process keeps 2, and one for each set that it waits for or takes at the same time";
    }
    const int acquires = strategy_ == Strategy::serializable ? 1 : 0;
    return "a process that waits keeps " + std::to_string(1 + acquires) + ", one that holds " +
           std::to_string(2 + acquires);
  }

  void look_at_upkeep() {
    const auto row = row_of(
        "upkeep",
        "SELECT current_setting('autovacuum') = 'on', "
        "coalesce((SELECT extract(epoch FROM max(now() - xact_start)) FROM pg_stat_activity "
        "WHERE state LIKE 'idle in transaction%' AND datname = current_database()), 0)::int, "
        "current_setting('idle_in_transaction_session_timeout')");
    if (!row) return;
    warn_unless((*row)[0].as<bool>(), "autovacuum", "on",
                "off, so that the lock tables grow and slow down: set autovacuum=on");
    const int idle = (*row)[1].as<int>();
    warn_unless(idle < 300, "open transactions", "none left idle for long",
                "one has been idle for " + std::to_string(idle) +
                    " s, which keeps the lock tables from being tidied: end it, or set "
                    "idle_in_transaction_session_timeout (now " +
                    (*row)[2].as<std::string>() + ")");
  }

  void look_at_clock() {
    const std::int64_t asked = server::calendar_us();
    const auto row =
        row_of("clock", "SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint");
    if (!row) return;
    add(server::examine_clock((*row)[0].as<std::int64_t>(), asked, server::calendar_us()));
  }

  const Options& options_;
  Connection& connection_;
  const TimePoint by_;
  Strategy strategy_ = Strategy::advisory;  // of the space, as far as known
  bool trusts_standbys_ = false;
  CallFailure failure_;
  std::vector<Finding> findings_;
};

}  // namespace

Result<std::vector<Finding>> examine(const Options& options, TimePoint by) {
  server::SocketWatchdog watchdog;
  const server::Interrupt never;
  Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options, watchdog, never, std::min(by, BootClock::now() + options.connect_timeout));
  if (!connection) return connection.error();
  return Examination(options, **connection, by).run();
}

}  // namespace lockset::postgresql
