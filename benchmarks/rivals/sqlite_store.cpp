#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/sqlite/address.h"
#include "backends/sqlite/connection.h"
#include "backends/sqlite/database_file.h"
#include "benchmarks/rivals/flock.h"
#include "benchmarks/rivals/sqlite_fill.h"
#include "benchmarks/rivals/stores.h"

namespace lockset::bench {
namespace {

using sqlite::Db;
using sqlite::Text;

sqlite::Options options_of(const Url& url) {
  Result<sqlite::Options> options = sqlite::parse_address(url);
  if (!options) throw std::runtime_error(options.error().message);
  return *std::move(options);
}

// Next to the space: a database with other content would be refused as a space.
std::string beside(const Url& url, const char* what) {
  return std::filesystem::path(options_of(url).path).parent_path() / what;
}

std::string floor_file(const Url& url) { return beside(url, "lockset_bench_floor.db"); }
std::string flock_folder(const Url& url) { return beside(url, "lockset_bench_flock"); }

void check(const Db& db) {
  if (db.code() != SQLITE_OK) throw std::runtime_error("SQLite: " + db.message());
}

// The floor waits for the disk at each commit, as everybody else's lock would; in an address with
// synchronous=normal it does not.
bool floor_syncs(const Url& url) {
  const auto said = url.params.find("synchronous");
  return said == url.params.end() || said->second != "normal";
}

// Otherwise the same settings as Lockset's own connections.
void open_floor(Db& db, const Url& url) {
  db.open(floor_file(url)).value();
  check(db);
  sqlite3_busy_timeout(db.handle(), 60'000);
  db.execute(floor_syncs(url) ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  check(db);
}

// Two transactions with one row each.
class FloorClient : public Client {
 public:
  explicit FloorClient(const Url& url) { open_floor(db_, url); }
  ~FloorClient() override {
    try {
      if (!held_.empty()) unlock();
    } catch (const std::runtime_error&) {
      // prepare() empties the table
    }
  }

  void lock(std::span<const std::string> names, Mode) override {
    held_ = names.front();
    try {
      change("INSERT INTO lockset_bench_floor VALUES (?)");
    } catch (const std::runtime_error&) {
      held_.clear();
      throw;
    }
  }
  void unlock() override {
    change("DELETE FROM lockset_bench_floor WHERE name = ?");
    held_.clear();
  }

 private:
  void change(const char* sql) {
    db_.use("BEGIN IMMEDIATE").run();
    check(db_);
    db_.use(sql).bind(Text{held_}).run();
    if (db_.code() != SQLITE_OK) {
      const std::string why = db_.message();
      db_.clear();
      db_.use("ROLLBACK").run();
      throw std::runtime_error("SQLite: " + why);
    }
    db_.use("COMMIT").run();
    check(db_);
  }

  Db db_;
  std::string held_;
};

class FloorEntry : public Entry {
 public:
  explicit FloorEntry(const Url& url) : url_(url) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<FloorClient>(url_); }

 private:
  const Url url_;
};

void clean(const Url& url) {
  const std::string file = floor_file(url);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  std::filesystem::remove_all(flock_folder(url));
}

void prepare(const Url& url) {
  clean(url);
  std::filesystem::create_directory(flock_folder(url));
  sqlite::Options floor = options_of(url);
  floor.path = floor_file(url);
  if (Result<std::string> path = sqlite::prepare_file(floor); !path) {
    throw std::runtime_error(path.error().message);
  }
  Db db;
  db.open(floor.path).value();
  db.execute("PRAGMA page_size = " + std::to_string(sqlite_page_size(url)) +
             "; PRAGMA journal_mode = WAL; "
             "CREATE TABLE lockset_bench_floor(name TEXT PRIMARY KEY) WITHOUT ROWID");
  check(db);
}

constexpr std::array rivals{
    Rival{.name = "insert + delete",
          .role = Role::floor,
          .enter = [](const Url& url) -> std::unique_ptr<Entry> {
            return std::make_unique<FloorEntry>(url);
          }},
    Rival{.name = "flock",
          .role = Role::native,
          .waits = true,
          .reads = true,
          .most_names = most_flocks,
          .enter = [](const Url& url) { return enter_flock(flock_folder(url)); }}};

nlohmann::ordered_json settings(const Url& url) {
  return {{"server", std::string("SQLite ") + sqlite3_libversion()},
          {"durability", options_of(url).sync_all ? "full" : "lease"},
          {"synchronous", floor_syncs(url) ? "full" : "normal"},  // of the floor
          {"journal_mode", "wal"},
          {"page_size", std::to_string(sqlite_page_size(url))}};
}

}  // namespace

const RivalStore sqlite_store{.scheme = "sqlite",
                              .rivals = rivals,
                              .prepare = prepare,
                              .clean = clean,
                              .fill = fill_sqlite,
                              .settings = settings};

}  // namespace lockset::bench
