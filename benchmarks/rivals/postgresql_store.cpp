#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/rivals/postgresql_connection.h"
#include "benchmarks/rivals/stores.h"

namespace lockset::bench {
namespace {

using postgresql::Options;

// --- the floor: one row per lock, inserted and deleted ---

constexpr const char* floor_table = "public.lockset_bench_floor";

class FloorClient : public Client {
 public:
  explicit FloorClient(const Options& options) : connection_(options) {
    connection_.prepare("lock", std::string("INSERT INTO ") + floor_table + " VALUES ($1)");
    connection_.prepare("unlock", std::string("DELETE FROM ") + floor_table + " WHERE name = $1");
  }
  ~FloorClient() override {
    try {
      if (!name_.empty()) unlock();
    } catch (const std::exception&) {
      // clean() removes it
    }
  }

  void lock(std::span<const std::string> names, Mode) override {
    connection_.prepared("lock", names.front());
    name_ = names.front();
  }
  void unlock() override {
    const pqxx::result deleted = connection_.prepared("unlock", name_);
    name_.clear();
    if (deleted.affected_rows() != 1) throw std::runtime_error("the floor's row was gone");
  }

 private:
  PostgresqlConnection connection_;
  std::string name_;
};

// --- advisory locks of the session, as most people use them: no lease, no stamp ---

class AdvisoryClient : public Client {
 public:
  explicit AdvisoryClient(const Options& options) : connection_(options) {
    connection_.prepare("lock", "SELECT pg_advisory_lock(hashtext($1))");
    connection_.prepare("unlock", "SELECT pg_advisory_unlock(hashtext($1))");
    connection_.prepare("lock_shared", "SELECT pg_advisory_lock_shared(hashtext($1))");
    connection_.prepare("unlock_shared", "SELECT pg_advisory_unlock_shared(hashtext($1))");
  }
  // the end of the session releases the rest

  void lock(std::span<const std::string> names, Mode mode) override {
    mode_ = mode;
    held_.clear();
    for (const std::string& name : names) {
      connection_.prepared(mode == Mode::read ? "lock_shared" : "lock", name);
      held_.push_back(name);
    }
  }
  void unlock() override {
    for (const std::string& name : held_) {
      const pqxx::result answer =
          connection_.prepared(mode_ == Mode::read ? "unlock_shared" : "unlock", name);
      if (!answer[0][0].as<bool>()) throw std::runtime_error("the advisory lock was not held");
    }
    held_.clear();
  }

 private:
  PostgresqlConnection connection_;
  std::vector<std::string> held_;
  Mode mode_ = Mode::write;
};

template <class OneClient>
class PostgresqlEntry : public Entry {
 public:
  explicit PostgresqlEntry(const Url& url) : options_(postgresql_options(url)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<OneClient>(options_); }

 private:
  const Options options_;
};

template <class OneClient>
std::unique_ptr<Entry> enter(const Url& url) {
  return std::make_unique<PostgresqlEntry<OneClient>>(url);
}

constexpr std::array rivals{
    Rival{.name = "INSERT + DELETE", .role = Role::floor, .enter = enter<FloorClient>},
    Rival{.name = "pg_advisory_lock",
          .role = Role::native,
          .waits = true,
          .reads = true,
          .most_names = 64,
          .enter = enter<AdvisoryClient>},
};

void clean(const Url& url) {
  PostgresqlConnection connection(postgresql_options(url));
  connection.run("SET client_min_messages = warning");
  connection.run(std::string("DROP TABLE IF EXISTS ") + floor_table);
}

void prepare(const Url& url) {
  clean(url);
  PostgresqlConnection connection(postgresql_options(url));
  connection.run(std::string("CREATE TABLE ") + floor_table +
                 " (name text COLLATE \"C\" PRIMARY KEY)");
}

// --- many live holds ---

std::string in_space(std::string sql, const Options& options) {
  const std::string schema = '"' + options.space + "\".";
  for (std::size_t at = 0; (at = sql.find('@', at)) != std::string::npos; at += schema.size()) {
    sql.replace(at, 1, schema);
  }
  return sql;
}

// The same rows as acquire's, except for their tokens, which no attempt has used.
constexpr const char* new_holds = R"(
INSERT INTO @locks (stamp, expires, created, epoch, token, size, mode, alone, name, app, instance,
                    label)
SELECT nextval('@stamps'), clock_timestamp() + interval '1 hour', clock_timestamp(), 0,
       gen_random_uuid(), 1, 'w', (SELECT strategy = 'serializable' FROM @meta), 'filler-' || n,
       'filler', 'filler', 'filler'
  FROM generate_series(%1 + 1, %2) n)";

constexpr const char* their_names = R"(
INSERT INTO @names SELECT name, stamp FROM @locks WHERE app = 'filler'
ON CONFLICT (name) DO UPDATE SET last = excluded.last)";

void fill(const Url& url, std::uint64_t count) {
  const Options options = postgresql_options(url);
  PostgresqlConnection connection(options);
  const auto run = [&](std::string sql) {
    return connection.run(in_space(std::move(sql), options));
  };
  const bool names = run("SELECT strategy = 'serializable' FROM @meta")[0][0].as<bool>();
  const auto present =
      run("SELECT count(*) FROM @locks WHERE app = 'filler'")[0][0].as<std::uint64_t>();
  if (present > count) {
    if (names) {
      run("UPDATE @names n SET last = -l.stamp FROM @locks l WHERE l.name = n.name AND l.app = "
          "'filler' AND substr(l.name, 8)::bigint > " +
          std::to_string(count));
    }
    run("DELETE FROM @locks WHERE app = 'filler' AND substr(name, 8)::bigint > " +
        std::to_string(count));
  } else {
    std::string sql = new_holds;
    sql.replace(sql.find("%1"), 2, std::to_string(present));
    sql.replace(sql.find("%2"), 2, std::to_string(count));
    run(std::move(sql));
    if (names) run(their_names);
  }
  // Like a space that has been in use for a while, without work that would disturb the measurement.
  run("VACUUM ANALYZE @locks");
  if (names) run("VACUUM ANALYZE @names");
  try {
    connection.run("CHECKPOINT");
  } catch (const std::runtime_error&) {
    // not every account has this right
  }
}

nlohmann::ordered_json settings(const Url& url) {
  PostgresqlConnection connection(postgresql_options(url));
  nlohmann::ordered_json all;
  const auto show = [&](const std::string& sql) {
    return connection.run("SELECT " + sql)[0][0].as<std::string>();
  };
  all["server"] = "PostgreSQL " + show("split_part(current_setting('server_version'), ' ', 1)");
  for (const char* name :
       {"fsync", "synchronous_commit", "synchronous_standby_names", "wal_sync_method",
        "commit_delay", "full_page_writes", "wal_level", "shared_buffers", "max_connections"}) {
    all[name] = show("current_setting('" + std::string(name) + "')");
  }
  all["transport"] = show(
      "CASE WHEN inet_server_addr() IS NULL THEN 'unix socket' ELSE 'TCP' END || CASE WHEN (SELECT "
      "ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) THEN ' with TLS' ELSE '' END");
  return all;
}

}  // namespace

const RivalStore postgresql_store{.scheme = "postgresql",
                                  .rivals = rivals,
                                  .prepare = prepare,
                                  .clean = clean,
                                  .fill = fill,
                                  .settings = settings};

}  // namespace lockset::bench
