// A database file that all workers open. There is no server and no network.
#include <sqlite3.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/quiet.h"
#include "tests/chaos/stores/repeater.h"
#include "tests/chaos/stores/restores.h"
#include "tests/chaos/stores/small_disk.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// Copies one whole database file into another, in one transaction there: as `sqlite3 PATH ".restore
// FILE"` does, and ".backup".
void copy_database(const std::string& from, const std::string& to) {
  sqlite3* source = nullptr;
  sqlite3* target = nullptr;
  std::string why;
  if (sqlite3_open_v2(from.c_str(), &source, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK ||
      sqlite3_open(to.c_str(), &target) != SQLITE_OK) {
    why = "can't open one of them";
  } else {
    sqlite3_busy_timeout(target, 60000);
    sqlite3_backup* const work = sqlite3_backup_init(target, "main", source, "main");
    if (work == nullptr) {
      why = sqlite3_errmsg(target);
    } else {
      int code = SQLITE_OK;
      const bool done = test::eventually(
          [&] {
            code = sqlite3_backup_step(work, -1);
            return code == SQLITE_DONE || (code != SQLITE_BUSY && code != SQLITE_LOCKED);
          },
          60s);
      const int end = sqlite3_backup_finish(work);
      if (!done || code != SQLITE_DONE || end != SQLITE_OK) why = sqlite3_errmsg(target);
    }
  }
  sqlite3_close(target);
  sqlite3_close(source);
  if (!why.empty()) throw std::runtime_error(from + " can't be copied to " + to + ": " + why);
}

// A connection that bypasses the backend.
class Handle {
 public:
  explicit Handle(const std::string& path) {
    const int code = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr);
    if (code != SQLITE_OK) {
      sqlite3_close(handle_);
      throw std::runtime_error("can't look into " + path);
    }
    sqlite3_busy_timeout(handle_, 60000);  // it may wait long for its turn among the workers
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { sqlite3_close(handle_); }

  void run(const std::string& sql) { (void)number(sql); }
  // The first column of the last row; 0 if there is no row.
  std::uint64_t number(const std::string& sql) {
    std::uint64_t value = 0;
    const auto row = [](void* into, int, char** columns, char**) {
      if (columns[0] != nullptr) *static_cast<std::uint64_t*>(into) = std::stoull(columns[0]);
      return 0;
    };
    if (sqlite3_exec(handle_, sql.c_str(), row, &value, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(handle_));
    }
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "lockset-chaos-XXXXXX") {
    std::string path = path_.string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore() {
    if (const auto why = SmallDisk::unavailable()) {
      missing_.push_back("disk-full: " + *why);
    } else {
      disk_.emplace(folder_.path());
    }
    (void)open_backend(direct_url(), test::soon()).value();
    add_faults();
  }
  ~SqliteStore() override { SqliteStore::end_all(); }

  [[nodiscard]] std::string name() const override { return "sqlite"; }
  [[nodiscard]] std::string version() const override {
    return std::string("SQLite ") + sqlite3_libversion();
  }
  [[nodiscard]] std::string worker_url(std::size_t) const override { return direct_url(); }
  [[nodiscard]] std::string direct_url() const override { return "sqlite:" + file(); }
  [[nodiscard]] Duration lease() const override { return 2s; }
  [[nodiscard]] std::vector<Fault>& faults() override { return faults_; }
  [[nodiscard]] std::vector<std::string> missing() const override { return missing_; }
  // One transaction puts everything in place.
  [[nodiscard]] bool becomes_unfit() const override { return false; }
  void settle() override {
    end_all();
    if (!test::eventually([this] { return answers(direct_url()); }, 60s)) {
      throw std::runtime_error("sqlite: the file can't be used again");
    }
  }
  [[nodiscard]] Left left() override {
    return when_quiet(direct_url(), [this] { return count(); });
  }
  [[nodiscard]] Left count() override {
    Handle handle(file());
    return {.holds = handle.number("SELECT count(*) FROM holds") +
                     handle.number("SELECT count(*) FROM hold_names"),
            .waiters = handle.number("SELECT count(*) FROM waiters") +
                       handle.number("SELECT count(*) FROM waiter_names")};
  }

 private:
  [[nodiscard]] std::string file() const { return (folder_.path() / "locks.db").string(); }

  void end_all() {
    for (const Fault& fault : faults_) fault.end();
  }

  void add(
      const std::string& name, FaultKind kind, Duration shortest, Duration longest,
      std::function<std::string(Dice&)> begin, std::function<void()> end = [] {}) {
    faults_.push_back({name, kind, shortest, longest, std::move(begin), std::move(end), "file"});
  }
  void add_repeated(const std::string& name, Duration pause, const std::string& what,
                    const std::function<void()>& work) {
    add(
        name, FaultKind::load, lease() / 2, 2 * lease(),
        [this, pause, what, work](Dice&) {
          repeater_.start(pause, work);
          return what;
        },
        [this] { repeater_.stop(); });
    faults_.back().hits = [this] { return repeater_.done(); };
  }
  // A foreign transaction that stays open.
  void add_held(const std::string& name, Duration shortest, Duration longest,
                const std::string& what, const std::string& sql) {
    add(
        name, FaultKind::server, shortest, longest,
        [this, what, sql](Dice&) {
          held_ = std::make_unique<Handle>(file());
          held_->run(sql);
          return what;
        },
        [this] { held_.reset(); });
  }

  void add_faults() {
    const Duration lease = this->lease();
    add_held("write-lock", lease / 20, lease / 2, "somebody else writes for a while",
             "BEGIN IMMEDIATE");
    add_held("write-lock-long", lease * 3 / 2, lease * 5 / 2,
             "somebody else writes for longer than leases", "BEGIN IMMEDIATE");
    add_held("long-reader", lease / 2, 2 * lease, "a reader keeps the log from being cleared",
             "BEGIN; SELECT count(*) FROM holds");
    add_repeated("vacuum", 100ms, "VACUUM", [this] { Handle(file()).run("VACUUM"); });
    add_repeated("checkpoint", 5ms, "the log is written back and cut",
                 [this] { Handle(file()).run("PRAGMA wal_checkpoint(TRUNCATE)"); });
    add_repeated("sweep", 20ms, "sweeps and inspections", [this] {
      const auto client = open_backend(direct_url(), test::soon()).value();
      (void)client->sweep(test::soon());
      (void)client->inspect({}, test::soon());
    });
    add_restores();
    if (!disk_) return;
    add(
        "disk-full", FaultKind::server, lease / 20, lease * 3 / 2,
        [this](Dice&) {
          // While the log is short, so that it has to grow again.
          Handle handle(file());
          for (int i = 0; i < 100; ++i) {
            if (i > 0) handle.run("ROLLBACK");
            handle.run("PRAGMA wal_checkpoint(TRUNCATE); BEGIN IMMEDIATE");
            if (std::filesystem::file_size(file() + "-wal") < 65536) break;
          }
          disk_->fill();
          return std::string("the disk is full");
        },
        [this] { disk_->clear(); });
  }

  void add_restores() {
    Vault vault;
    vault.back_up = [this] {
      std::filesystem::remove(beside("backup.db"));
      copy_database(file(), beside("backup.db"));
    };
    vault.put_back = [this] { copy_database(beside("backup.db"), file()); };
    vault.wipe = [this] {
      for (const char* const end : {"", "-wal", "-shm", "-gate"}) {
        std::filesystem::remove(beside("fresh.db") + end);
      }
      init_space("sqlite:" + beside("fresh.db"), test::soon()).value();
      copy_database(beside("fresh.db"), file());
    };
    restores_.emplace(direct_url(), std::move(vault), permits_turn(),
                      [this](TimePoint at, history::What what) { record_at(at, std::move(what)); });
    restores_->add_faults(faults_, FaultKind::restore, "file", lease());
  }
  [[nodiscard]] std::string beside(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  Folder folder_;
  std::optional<Restores> restores_;
  std::optional<SmallDisk> disk_;
  std::vector<std::string> missing_;
  std::vector<Fault> faults_;
  std::unique_ptr<Handle> held_;
  Repeater repeater_;
};

}  // namespace

std::vector<Kind> sqlite_kinds() {
  return {{"sqlite",
           [](const StoreOptions& options) -> std::optional<std::string> {
             if (options.scenario == Scenario::safe) return {};
             return "its leases go by a clock that nobody can set";
           },
           [](const StoreOptions&) { return std::make_unique<SqliteStore>(); }}};
}

}  // namespace lockset::chaos
