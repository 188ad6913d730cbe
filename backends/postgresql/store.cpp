#include "backends/postgresql/store.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "backends/postgresql/settings.h"
#include "lockset/stamp.h"

namespace lockset::postgresql {
namespace {

using std::chrono::milliseconds;

// How long a session may wait for one lock. A wait that ends so was certainly not applied. So this
// is shorter than the usual deadline of a call, which leaves the outcome open.
constexpr milliseconds lock_timeout{2000};

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// The session's settings, as one SQL expression that sets them. They are not set with libpq's
// `options`, which poolers refuse. They are set only if the server's process is the one that we are
// connected to: a pooler's session is shared with others.
std::string set_up_sql(int pid, Isolation isolation) {
  const std::vector<std::pair<std::string, std::string>> settings{
      {"default_transaction_isolation",
       isolation == Isolation::serializable ? "serializable" : "read committed"},
      // The server's own names are found there, whatever search path the user has.
      {"search_path", "pg_catalog, pg_temp"},
      // A warning may say that a commit is on this server alone.
      {"client_min_messages", "warning"},
      {"lock_timeout", std::to_string(lock_timeout.count())},
      // No statement takes so long; an abandoned one ends by then at the latest.
      {"statement_timeout", "60000"},
      // As in the functions' own settings: those of a space made by an older program lack them.
      {"plan_cache_mode", "force_generic_plan"},
      {"enable_seqscan", "off"},
      {"jit", "off"},
  };
  std::string sql = "CASE WHEN pg_backend_pid() = " + std::to_string(pid) + " THEN concat(";
  for (const auto& [name, value] : settings) {
    sql.append("set_config('").append(name).append("','").append(value).append("',false),");
  }
  // Keeps the present value, which is checked: so a reload of the server's configuration can't
  // lower it for this session.
  sql += "set_config('synchronous_commit',current_setting('synchronous_commit'),false),";
  // Since PostgreSQL 14: a statement ends soon after its client is gone.
  return sql +
         "(SELECT set_config(name,'2000',false) FROM pg_settings "
         "WHERE name = 'client_connection_check_interval')) END";
}

// Whether this user may call what programs call. NULL if there is no such function of our version.
std::string may_use_sql(const std::string& space) {
  return "(SELECT bool_and(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p "
         "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '" +
         space + "' AND p.proname IN ('acquire_v" + std::to_string(schema_version) +
         "', 'session_acquire_v" + std::to_string(schema_version) + "'))";
}

// Whether fewer than an eighth of the server's connections are left. Each waiting process keeps a
// connection for as long as it waits. The rest is left for clients that come and go, which end the
// others' waits.
constexpr std::string_view crowded_sql =
    "(SELECT current_setting('max_connections')::int - "
    "current_setting('superuser_reserved_connections')::int - coalesce(sum(numbackends), 0) < "
    "current_setting('max_connections')::int / 8 FROM pg_stat_database)";

// The columns of an Origin.
constexpr std::string_view origin_columns =
    "(SELECT c.system_identifier FROM pg_control_system() c)::text, "
    "CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || left(pg_walfile_name("
    "pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END";

Origin origin_from(const pqxx::row& row, int first) {
  const auto at = static_cast<pqxx::row::size_type>(first);
  return {row[at].as<std::string>(), row[at + 1].as<std::int64_t>()};
}

// How long to wait for a host that is only looked at.
constexpr std::chrono::seconds look_for_at_most{1};

struct About {
  int version = -1;  // -1: the schema has its functions, and no rows
  std::string strategy;
  std::string failover;  // empty: a space of an older program
};

About parse_about(const std::string& text) {
  About about;
  const std::size_t first = text.find('\x1F');
  const std::size_t second = text.find('\x1F', first + 1);
  if (first == std::string::npos || second == std::string::npos) return about;
  std::from_chars(text.data(), text.data() + first, about.version);
  about.strategy = text.substr(first + 1, second - first - 1);
  const std::size_t third = text.find('\x1F', second + 1);
  if (third != std::string::npos) about.failover = text.substr(third + 1);
  return about;
}

Status check_version(const About& about, const Options& options) {
  if (about.version < 0) return is_incomplete(options.shown);
  if (about.version == schema_version) return {};
  const std::string has =
      "PostgreSQL (" + options.shown + "): the space has version " + std::to_string(about.version) +
      " of the schema, and this program serves " + "version " + std::to_string(schema_version);
  return Error{
      Errc::misconfigured,
      has + (about.version > schema_version ? ": use a newer program, or another space"
                                            : ": run lockset init to bring the space up to date")};
}

// strategy=session needs a session that is the client's own, and that the server ends itself.
Status fit_for_sessions(int version, const Options& options) {
  const std::string name = "PostgreSQL (" + options.shown + "): ";
  if (options.pooler) {
    return Error{Errc::misconfigured,
                 name +
                     "strategy=session needs a connection of its own to the server: leave "
                     "pooler=on out and name the server itself"};
  }
  if (version < 140000) {
    return Error{Errc::misconfigured,
                 name + "strategy=session needs PostgreSQL 14 or newer (idle_session_timeout)"};
  }
  return {};
}

}  // namespace

Store::Store(const Options& options) : options_(options) {
  const auto opener = [this](Isolation isolation) {
    return [this, isolation] { return connect(isolation); };
  };
  const std::string shown = "PostgreSQL (" + options_.shown + ")";
  plain_most_ = options_.pool;
  plain_ = std::make_unique<Pool>(options_.pool, opener(Isolation::read_committed), shown);
  renewal_ =
      std::make_unique<Pool>(server::renewal_connections, opener(Isolation::read_committed), shown);
}

Result<std::unique_ptr<Store>> Store::open(const Options& options, TimePoint by) {
  std::unique_ptr<Store> store(new Store(options));
  store->look_at_all_hosts(by);
  {
    const Result<Pool::Lease> lease = store->plain_->take(by);
    if (!lease) return lease.error();
  }
  const Strategy strategy = store->made_with_;
  if (options.strategy && *options.strategy != strategy) {
    return Error{Errc::misconfigured,
                 "PostgreSQL (" + options.shown +
                     "): the space was made with strategy=" + std::string(to_string(strategy)) +
                     ", which all its users share: leave strategy= out, or name another space"};
  }
  store->strategy_ = strategy;
  if (strategy == Strategy::serializable) {
    // The pools share the connections. Each pool opens one at the start, so that neither is left
    // without one if the server accepts no more.
    const std::size_t others = std::max<std::size_t>(1, options.pool / 2);
    store->plain_most_ = others;
    store->plain_->limit(others);
    Store* const self = store.get();
    store->acquire_ = std::make_unique<Pool>(
        std::max<std::size_t>(1, options.pool - others),
        [self] { return self->connect(Isolation::serializable); },
        "PostgreSQL (" + options.shown + ")");
    const Result<Pool::Lease> lease = store->acquire_->take(by);
    if (!lease) return lease.error();
  }
  store->open_ = true;
  return store;
}

void Store::share(std::shared_ptr<Ear> ear) {
  const std::lock_guard lock(ear_mutex_);
  ear_ = std::move(ear);
  // The shared connection belongs to that pool and comes on top of its limit.
  plain_->limit(plain_most_ + (ear_ ? 1 : 0));
}

Status Store::connect_for_waiting(TimePoint by) {
  if (acquire_) {
    // Given back at once: a caller that waits for the other kind and keeps this one blocks others.
    const Result<Line> one = take(Lane::acquire, by);
    if (!one) return one.error();
  }
  const Result<Line> other = take(Lane::common, by);
  return other ? Status() : other.error();
}

void Store::close_idle() {
  plain_->close_idle();
  if (acquire_) acquire_->close_idle();
}

Result<Line> Store::take(Lane lane, TimePoint by) {
  if (lane == Lane::renewal || (lane == Lane::acquire && acquire_)) {
    Result<Pool::Lease> lease = (lane == Lane::renewal ? renewal_ : acquire_)->take(by);
    if (lease) return Line(*std::move(lease));
    // If the server accepts no more connections, the existing ones must be enough.
    if (lane != Lane::renewal || !lease.error().retryable()) return lease.error();
    Result<Line> other = take(Lane::common, by);
    return other ? std::move(other) : Result<Line>(lease.error());
  }
  if (std::optional<Pool::Lease> idle = plain_->take_idle()) return Line(*std::move(idle));
  std::shared_ptr<Ear> ear;
  {
    const std::lock_guard lock(ear_mutex_);
    ear = ear_;
  }
  if (ear && ear->try_turn()) return Line(std::move(ear));
  Result<Pool::Lease> lease = plain_->take(by);
  if (lease) return Line(*std::move(lease));
  if (ear && lease.error().retryable() && ear->take_turn(by)) return Line(std::move(ear));
  return lease.error();
}

Statement Store::statement(const std::string& name, const std::string& call, Sent sent, Role role) {
  std::string sql = "SELECT " + call;
  const std::string schema = quoted(options_.space) + ".";
  for (std::size_t at = 0; (at = sql.find('@', at)) != std::string::npos; at += schema.size()) {
    sql.replace(at, 1, schema);
  }
  return {statements_++, name, std::move(sql), sent, role};
}

Store::~Store() {
  interrupt_.set();
  {
    std::unique_lock lock(opening_mutex_);
    ending_ = true;
    // Repeats, because a call that has just begun sets its own deadline.
    while (!opening_.empty()) {
      for (server::SocketWatchdog::Socket* const socket : opening_) {
        socket->arm(BootClock::now());
      }
      opened_.wait_for(lock, milliseconds(10));
    }
  }
  // Their connections call back into this object until they are gone.
  renewal_.reset();
  acquire_.reset();
  plain_.reset();
}

// Who has only the old primary of two in mind must not be led to it once the other has been seen.
bool Store::is_newest(const Origin& origin) {
  const std::lock_guard lock(newest_mutex_);
  if (origin.timeline == 0) return true;
  if (newest_.cluster == origin.cluster && origin.timeline < newest_.timeline) return false;
  newest_ = origin;
  return true;
}

void Store::look_at_all_hosts(TimePoint by) {
  const std::size_t count = options_.conninfos.size();
  if (count == 1) return;
  for (std::size_t host = 0; host < count; ++host) {
    // Those that don't answer are found out about when they are needed.
    const TimePoint soon = std::min(by, BootClock::now() + look_for_at_most);
    const Result<std::unique_ptr<Connection>> connection =
        Connection::connect(options_, watchdog_, interrupt_, soon, {host, host + 1});
    if (!connection) continue;
    CallFailure failure;
    const Result<pqxx::result> seen =
        (*connection)
            ->run(std::string(safe_path) + "SELECT " + std::string(origin_columns), Sent::reading,
                  soon, failure);
    if (seen) is_newest(origin_from((*seen)[0], 0));
  }
}

Result<std::unique_ptr<Connection>> Store::connect(Isolation isolation, TimePoint by) {
  by = std::min(by, BootClock::now() + options_.connect_timeout);
  Connection::Hosts hosts;
  // A server that was replaced. The one that has replaced it may be the next.
  std::optional<Error> older;
  for (;;) {
    Result<std::unique_ptr<Connection>> connection =
        Connection::connect(options_, watchdog_, interrupt_, by, hosts);
    if (!connection)
      return older ? Result<std::unique_ptr<Connection>>(*older) : std::move(connection);
    server::SocketWatchdog::Socket* const socket = (*connection)->socket();
    {
      const std::lock_guard lock(opening_mutex_);
      if (ending_) return Error{Errc::unavailable, "the store is being closed"};
      opening_.insert(socket);
    }
    bool replaced = false;
    const Status status = set_up(**connection, isolation, by, replaced);
    {
      const std::lock_guard lock(opening_mutex_);
      opening_.erase(socket);
      opened_.notify_all();
    }
    if (status) return connection;
    hosts.first = (*connection)->host() + 1;
    if (!replaced || hosts.first >= options_.conninfos.size()) return status.error();
    older = status.error();
  }
}

Status Store::set_up(Connection& connection, Isolation isolation, TimePoint by, bool& replaced) {
  const int pid = connection.native().backendpid();
  // No function of the space is run with the rights of a role that may do more than its owner.
  std::string sql = std::string(safe_path) + trust_sql(options_) + "SELECT " +
                    quoted(options_.space) + ".about(), pg_backend_pid(), " +
                    may_use_sql(options_.space) + ", " + std::string(crowded_sql) + ", ";
  if (!options_.pooler) sql += set_up_sql(pid, isolation) + ", ";
  sql += settings_columns;
  sql += ", " + std::string(origin_columns);
  CallFailure failure;
  const Result<pqxx::result> result = connection.run(sql, Sent::nothing, by, failure);
  if (!result && failure.sqlstate.starts_with("22")) {
    const Result<Ownership> found = ownership(connection, options_, by);
    return found ? not_trusted(options_, *found) : found.error();
  }
  if (!result && failure.sqlstate == "42501") {
    return not_allowed(options_, Role::programs, connection.user(), failure.said);
  }
  if (!result) return result.error();
  const pqxx::row row((*result)[0]);
  if (!options_.pooler && row[1].as<int>() != pid) {
    return Error{Errc::misconfigured,
                 "PostgreSQL (" + options_.shown +
                     "): a connection pooler stands between: add pooler=on to the address (or "
                     "name the server itself, which is faster)"};
  }
  crowded_ = row[3].as<bool>(false);
  Settings settings = read_settings(row, options_.pooler ? 4 : 5);
  settings.warns = settings.warns || !options_.pooler;
  for (const Finding& finding : judge(settings, false)) {
    if (finding.level != Finding::Level::unsafe) continue;
    // A client that opens has the wrong address. One that was served before waits for the failover
    // to end.
    const bool failover = open_ && (settings.standby || settings.read_only);
    return Error{failover ? Errc::unavailable : Errc::misconfigured,
                 "PostgreSQL (" + options_.shown + "): " + finding.subject + ": " + finding.text};
  }
  const int after_settings = static_cast<int>(row.size()) - 2;
  if (!is_newest(origin_from(row, after_settings))) {
    replaced = true;
    return Error{Errc::unavailable,
                 "PostgreSQL (" + options_.shown +
                     "): this primary was replaced by a standby, which this program has seen: take "
                     "it out of service (or, if an older state was put back on purpose, restart "
                     "this program)"};
  }
  const About about = parse_about(row[0].as<std::string>(""));
  if (Status status = check_version(about, options_); !status) return status;
  const std::optional<Strategy> made_with = strategy_from(about.strategy);
  if (!made_with) {
    return Error{Errc::misconfigured, "PostgreSQL (" + options_.shown +
                                          "): the space was made with strategy=" + about.strategy +
                                          ", which this program does not know: use a newer one"};
  }
  made_with_ = *made_with;
  if (options_.failover && about.failover != to_string(*options_.failover)) {
    return Error{Errc::misconfigured,
                 "PostgreSQL (" + options_.shown + "): the space has failover=" +
                     (about.failover.empty() ? "(none)" : about.failover) +
                     ", which all its users share: leave failover= out, or have its owner run "
                     "lockset init with this address"};
  }
  if (*made_with == Strategy::session) {
    if (Status status = fit_for_sessions(settings.version, options_); !status) return status;
  }
  if (!row[2].as<bool>(false)) {
    return not_allowed(options_, Role::programs, connection.user(),
                       "permission denied for the functions of the space");
  }
  return {};
}

bool Store::is_missing(std::string_view sqlstate) noexcept {
  return sqlstate == "42883" || sqlstate == "3F000" || sqlstate == "42P01";
}

Error Store::say_what_is_there(Line& line, TimePoint by, const Error& otherwise) {
  CallFailure failure;
  const Result<pqxx::result> about =
      line->run(std::string(safe_path) + "SELECT " + quoted(options_.space) + ".about()",
                Sent::reading, by, failure);
  Error error = otherwise;
  if (about) {
    const Status status = check_version(parse_about((*about)[0][0].as<std::string>("")), options_);
    if (!status) error = status.error();
  }
  // The next call checks everything again.
  line.broken();
  return error;
}

server::Attempt Store::attempt_of(const CallFailure& failure, TimePoint by) noexcept {
  if (failure.broken) return server::Attempt::broken;
  // It has waited for a lock that long already, and would do so again.
  const bool late = failure.sqlstate == "55P03" && BootClock::now() + lock_timeout >= by;
  return failure.repeat() && !late ? server::Attempt::collided : server::Attempt::last;
}

}  // namespace lockset::postgresql
