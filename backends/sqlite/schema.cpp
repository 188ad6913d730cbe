#include "backends/sqlite/schema.h"

#include <chrono>
#include <thread>

#include "backends/sqlite/errors.h"
#include "backends/sqlite/holds.h"
#include "backends/sqlite/statements.h"
#include "lockset/lock_set.h"
#include "lockset/space_config.h"

namespace lockset::sqlite {
namespace {

constexpr std::int64_t application_id = 0x4C4B5354;  // "LKST"
constexpr std::int64_t schema_version = 4;

Error misfit(const std::string& path, const std::string& why) {
  return Error{Errc::misconfigured, in_quotes(path) + " " + why};
}

std::int64_t single_number(Db& db, const char* sql) {
  Query query = db.use(sql);
  return query.next() ? query.integer(0) : 0;
}

Result<bool> judge(std::int64_t application, std::int64_t version, bool has_tables,
                   const std::string& path) {
  if (application == application_id) {
    if (version >= 1 && version <= schema_version) return true;
    return misfit(path, "has lock tables of version " + std::to_string(version) +
                            ", and this program knows version " + std::to_string(schema_version) +
                            ": update this program, or name another file");
  }
  if (application != 0 || version != 0 || has_tables) {
    return misfit(path,
                  "is the database of another program and was left as it is: name a file "
                  "that is missing, empty or Lockset's own");
  }
  return false;
}

// REQUIRES: in a transaction.
Result<bool> look(Db& db, const std::string& path) {
  const std::int64_t application = single_number(db, "PRAGMA application_id");
  const std::int64_t version = single_number(db, "PRAGMA user_version");
  const bool has_tables = single_number(db, "SELECT count(*) FROM sqlite_schema") > 0;
  if (db.code() != SQLITE_OK) return error_from(db.code(), db.message(), path, Phase::open);
  return judge(application, version, has_tables, path);
}

}  // namespace

Result<bool> is_lock_space(Db& db, const std::string& path) {
  // Otherwise closing another program's database as its last user would fold its log into it.
  if (db.handle() != nullptr) {
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  db.execute("BEGIN");
  Result<bool> verdict = look(db, path);
  db.clear();
  if (db.handle() != nullptr && db.in_transaction()) db.execute("ROLLBACK");
  if (verdict && sqlite3_db_readonly(db.handle(), "main") == 1) {
    return error_from(SQLITE_READONLY, "the file was opened read-only", path, Phase::open);
  }
  return verdict;
}

Status set_up_connection(Db& db, const std::string& path, bool sync_all, TimePoint by) {
  db.wait_until(by);
  // Takes effect while the file is empty. A commit writes whole pages to the log, and a grant
  // touches three small rows: with small pages there is less to write.
  db.execute("PRAGMA page_size = 1024");
  std::string mode;
  for (;;) {
    {
      Query query = db.use("PRAGMA journal_mode = WAL");
      if (query.next()) mode = query.text(0);
    }
    // SQLite does not wait here if another process switches at the same time.
    if ((db.code() & 0xFF) != SQLITE_BUSY || BootClock::now() >= by) break;
    db.clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  db.execute(sync_all ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  db.execute(
      "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; "
      // A burst must not leave a large log for ever.
      "PRAGMA journal_size_limit = 16777216");
  if (db.code() != SQLITE_OK) return error_from(db.code(), db.message(), path, Phase::open);
  if (mode != "wal") {
    return misfit(path, "can't be switched to SQLite's WAL mode (it stays in mode " + mode +
                            "): put the lock database on a local disk");
  }
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  return {};
}

Status make_schema(Db& db, const std::string& path, const StoreClock& clock) {
  Result<bool> made = look(db, path);
  if (made && !*made) {
    db.execute(std::string(statements::tables_sql));
    db.execute(std::string(statements::traces_sql));
    db.use("INSERT INTO space VALUES (1, 1, 0, 0, ?, 0, ?, ?, 0)")
        .bind(
            std::chrono::duration_cast<std::chrono::microseconds>(SpaceConfig().max_lease).count(),
            Text{clock.boot_id()}, std::int64_t{default_max_overtakes})
        .run();
    db.execute("PRAGMA application_id = " + std::to_string(application_id) +
               "; PRAGMA user_version = " + std::to_string(schema_version) + "; COMMIT");
    if (db.code() != SQLITE_OK) made = error_from(db.code(), db.message(), path, Phase::open);
  }
  db.clear();
  if (db.in_transaction()) db.execute("ROLLBACK");
  return made ? Status() : made.error();
}

bool is_outdated(Db& db) { return single_number(db, "PRAGMA user_version") < schema_version; }

void upgrade(Db& db) {
  const std::int64_t version = single_number(db, "PRAGMA user_version");
  if (version >= schema_version) return;
  if (version == 1) {
    std::string script(statements::upgrade_from_1_sql);
    constexpr std::string_view gap = "@max_overtakes@";
    script.replace(script.find(gap), gap.size(), std::to_string(default_max_overtakes));
    db.execute(script);
  }
  if (version <= 2) db.execute(std::string(statements::traces_sql));
  db.execute(std::string(statements::upgrade_from_3_sql));
  db.execute("PRAGMA user_version = " + std::to_string(schema_version));
  // A transaction without a changed row is rolled back.
  db.use("UPDATE space SET boot_id = boot_id").run();
}

bool knows_boot(Db& db, const std::string& boot_id) {
  Query query = db.use("SELECT 1 FROM space WHERE boot_id = ?");
  return query.bind(Text{boot_id}).next();
}

bool adopt_boot(Transaction& transaction, const std::string& boot_id) {
  Db& db = transaction.db;
  if (knows_boot(db, boot_id)) return false;
  transaction.must_survive = true;
  remove_holds_of_the_dead(transaction);
  // Never more than the lease, no matter what the wall clock did in between.
  db.use(
        "UPDATE holds SET expires_boot_us = ?1 + "
        "max(0, min(expires_wall_us - ?2, lease_us)) WHERE expires_boot_us IS NOT NULL")
      .bind(transaction.now_us, transaction.wall_us)
      .run();
  // A write that was lost must not make an earlier observation true again.
  db.use("DELETE FROM traces WHERE (SELECT stamp_ceiling FROM space) > 0").run();
  db.use("DELETE FROM waiters").run();
  db.use("DELETE FROM waiter_names").run();
  db.use(
        "UPDATE space SET boot_id = ?, last_stamp = max(last_stamp, stamp_ceiling), "
        "stamp_ceiling = 0")
      .bind(Text{boot_id})
      .run();
  return true;
}

}  // namespace lockset::sqlite
