// MySQL and MariaDB.
#include <cppconn/connection.h>
#include <cppconn/exception.h>
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset.h>
#include <cppconn/statement.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/native_connection.h"
#include "benchmarks/rivals/rival.h"
#include "benchmarks/rivals/stores.h"

namespace lockset::bench {
namespace {

// Calls f and turns the library's exceptions into one line. No message of the library shows a
// password.
template <class F>
auto told(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const sql::SQLException& error) {
    throw std::runtime_error("MySQL: " + std::string(error.what()) + " (" +
                             std::to_string(error.getErrorCode()) + ")");
  }
}

mysql::Options options_of(const Url& url) {
  Result<mysql::Options> options = mysql::parse_address(url);
  if (!options) throw std::runtime_error(options.error().message);
  return *std::move(options);
}

// A connection with the same settings as the backend's.
class Session {
 public:
  explicit Session(const mysql::Options& options)
      : native_(told([&] {
          mysql::use_thread();
          return mysql::connect_natively(options, BootClock::now() + options.connect_timeout);
        })) {
    run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run("SET SESSION time_zone = '+00:00', autocommit = 1, "
        "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
  }

  std::unique_ptr<sql::PreparedStatement> prepare(const std::string& sql) {
    return told(
        [&] { return std::unique_ptr<sql::PreparedStatement>(native_->prepareStatement(sql)); });
  }

  void run(const std::string& sql) {
    told([&] { std::unique_ptr<sql::Statement>(native_->createStatement())->execute(sql); });
  }

  // Rows of text.
  std::vector<std::vector<std::string>> ask(const std::string& sql, unsigned columns) {
    return told([&] {
      const std::unique_ptr<sql::Statement> statement(native_->createStatement());
      const std::unique_ptr<sql::ResultSet> set(statement->executeQuery(sql));
      std::vector<std::vector<std::string>> rows;
      while (set->next()) {
        auto& row = rows.emplace_back();
        for (unsigned i = 1; i <= columns; ++i) row.push_back(set->getString(i).asStdString());
      }
      return rows;
    });
  }

 private:
  std::unique_ptr<sql::Connection> native_;
};

template <class C>
class OwnConnections : public Entry {
 public:
  explicit OwnConnections(const Url& url) : options_(options_of(url)) {}
  std::unique_ptr<Client> connect() override {
    mysql::use_thread();
    return std::make_unique<C>(options_);
  }

 private:
  const mysql::Options options_;
};

template <class C>
std::unique_ptr<Entry> enter(const Url& url) {
  return std::make_unique<OwnConnections<C>>(url);
}

// The floor: a row in a table that contains only the name.
class FloorClient : public Client {
 public:
  explicit FloorClient(const mysql::Options& options)
      : session_(options),
        insert_(session_.prepare("INSERT INTO lockset_bench_floor VALUES (?)")),
        delete_(session_.prepare("DELETE FROM lockset_bench_floor WHERE name = ?")) {}
  ~FloorClient() override {
    try {
      if (!held_.empty()) unlock();
    } catch (const std::exception&) {  // best effort
    }
  }

  void lock(std::span<const std::string> names, Mode /*mode*/) override {
    mysql::use_thread();
    told([&] {
      insert_->setString(1, names[0]);
      insert_->executeUpdate();
    });
    held_ = names[0];
  }

  void unlock() override {
    mysql::use_thread();
    told([&] {
      delete_->setString(1, held_);
      if (delete_->executeUpdate() != 1) throw std::runtime_error("MySQL: the lock was gone");
    });
    held_.clear();
  }

 private:
  Session session_;
  std::unique_ptr<sql::PreparedStatement> insert_;
  std::unique_ptr<sql::PreparedStatement> delete_;
  std::string held_;
};

// User-level locks: one statement per name, in order. They end with the connection and are not
// stored.
class UserLockClient : public Client {
 public:
  explicit UserLockClient(const mysql::Options& options)
      : session_(options),
        get_(session_.prepare("SELECT GET_LOCK(?, " + std::to_string(wait_s) + ")")),
        release_(session_.prepare("SELECT RELEASE_LOCK(?)")) {}
  ~UserLockClient() override {
    try {
      unlock();
    } catch (const std::exception&) {  // they end with the connection
    }
  }

  void lock(std::span<const std::string> names, Mode /*mode*/) override {
    mysql::use_thread();
    for (const std::string& name : names) {
      while (call(*get_, name) != 1) {
      }
      held_.push_back(name);
    }
  }

  void unlock() override {
    mysql::use_thread();
    for (; !held_.empty(); held_.pop_back()) {
      if (call(*release_, held_.back()) != 1) throw std::runtime_error("MySQL: the lock was gone");
    }
  }

 private:
  // Shorter than the client library waits for an answer.
  static constexpr int wait_s = 20;

  static int call(sql::PreparedStatement& statement, const std::string& name) {
    return told([&] {
      statement.setString(1, name);
      const std::unique_ptr<sql::ResultSet> answer(statement.executeQuery());
      answer->next();
      return answer->getInt(1);
    });
  }

  Session session_;
  std::unique_ptr<sql::PreparedStatement> get_;
  std::unique_ptr<sql::PreparedStatement> release_;
  std::vector<std::string> held_;
};

constexpr Rival rivals[] = {
    {.name = "INSERT + DELETE", .role = Role::floor, .enter = enter<FloorClient>},
    {.name = "GET_LOCK", .waits = true, .most_names = 64, .enter = enter<UserLockClient>},
};

void clean(const Url& url) {
  Session(options_of(url)).run("DROP TABLE IF EXISTS lockset_bench_floor");
}

void prepare(const Url& url) {
  Session session(options_of(url));
  session.run("DROP TABLE IF EXISTS lockset_bench_floor");
  session.run(
      "CREATE TABLE lockset_bench_floor (name VARBINARY(255) NOT NULL PRIMARY KEY) "
      "ENGINE=InnoDB ROW_FORMAT=DYNAMIC");
}

// Names of equal length, so that they are inserted in the order of the key.
constexpr std::uint64_t first_filler = 10'000'000;
constexpr std::uint64_t fill_at_once = 10'000;

std::string filler(std::uint64_t n) { return "'filler-" + std::to_string(first_filler + n) + "'"; }

void insert_fillers(Session& session, const std::string& space, std::uint64_t from,
                    std::uint64_t to) {
  const std::string digit =
      "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 "
      "UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 "
      "UNION ALL SELECT 9)";
  const std::string now = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
  session.run("START TRANSACTION");
  session.run(
      "INSERT INTO " + space +
      "_locks (name, item, mode, items, app, instance, epoch, label, token, created, expires) "
      "SELECT CONCAT('filler-', s.n), 0, 1, 1, 'filler', 'filler', 0, 'filler@bench:1', "
      "RANDOM_BYTES(16), s.now_us, s.now_us + 3600000000 "
      "FROM (SELECT " +
      std::to_string(first_filler + from) +
      " + d.n * 1000 + c.n * 100 + b.n * 10 + a.n AS n, (SELECT " + now + ") AS now_us FROM " +
      digit + " a, " + digit + " b, " + digit + " c, " + digit + " d) s WHERE s.n < " +
      std::to_string(first_filler + to) + " ORDER BY s.n");
  session.run("INSERT IGNORE INTO " + space + "_names SELECT name, stamp, 0 FROM " + space +
              "_locks WHERE name BETWEEN " + filler(from) + " AND " + filler(to - 1));
  session.run("COMMIT");
}

void fill(const Url& url, std::uint64_t count) {
  const mysql::Options options = options_of(url);
  Session session(options);
  const std::string locks = options.space + "_locks";
  const std::string names = options.space + "_names";
  const std::uint64_t there = std::stoull(
      session.ask("SELECT COUNT(*) FROM " + locks + " WHERE app = 'filler'", 1).at(0).at(0));
  // Never by TRUNCATE, which would draw the same stamps again.
  for (std::uint64_t to = there; to > count;) {
    const std::uint64_t from = std::max(count, to > fill_at_once ? to - fill_at_once : 0);
    for (const std::string& table : {locks, names}) {
      session.run("DELETE FROM " + table + " WHERE name BETWEEN " + filler(from) + " AND " +
                  filler(to - 1));
    }
    to = from;
  }
  for (std::uint64_t from = 0; from < std::min(there, count); from += fill_at_once) {
    session.run("UPDATE " + locks +
                " SET expires = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + 3600000000 "
                "WHERE name BETWEEN " +
                filler(from) + " AND " + filler(std::min({from + fill_at_once, there, count}) - 1));
  }
  if (there >= count) return;
  // A row with a high stamp raises the counter, as in the backend.
  session.run("INSERT INTO " + locks +
              " (name, stamp, item, mode) SELECT '', CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS "
              "SIGNED), 0, 0");
  session.run("DELETE FROM " + locks + " WHERE name = ''");
  for (std::uint64_t from = there; from < count; from += fill_at_once) {
    insert_fillers(session, options.space, from, std::min(from + fill_at_once, count));
  }
}

nlohmann::ordered_json settings(const Url& url) {
  Session session(options_of(url));
  nlohmann::ordered_json settings;
  const auto server = session.ask("SELECT VERSION(), @@version_comment", 2).at(0);
  settings["server"] =
      server[0].find("MariaDB") != std::string::npos ? server[0] : "MySQL " + server[0];
  for (const char* const name :
       {"innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite", "log_bin",
        "sync_binlog", "binlog_format", "innodb_buffer_pool_size", "innodb_log_file_size",
        "innodb_redo_log_capacity", "thread_handling", "performance_schema"}) {
    for (const auto& row :
         session.ask("SHOW GLOBAL VARIABLES LIKE '" + std::string(name) + "'", 2)) {
      settings[row[0]] = row[1];
    }
  }
  const auto cipher = session.ask("SHOW SESSION STATUS LIKE 'Ssl_cipher'", 2);
  settings["tls"] = cipher.empty() || cipher[0][1].empty() ? "off" : cipher[0][1];
  return settings;
}

}  // namespace

const RivalStore mysql_store{.scheme = "mysql",
                             .rivals = rivals,
                             .prepare = prepare,
                             .clean = clean,
                             .fill = fill,
                             .settings = settings};

}  // namespace lockset::bench
