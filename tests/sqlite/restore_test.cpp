// A database that is restored from a backup while a client lives.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "lockset/lockset.h"
#include "tests/sqlite/folder.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

using Handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Handle handle_of(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open(path.c_str(), &raw);
  Handle handle(raw, &sqlite3_close);
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(raw));
  sqlite3_busy_timeout(raw, 10000);
  return handle;
}

// Does what `sqlite3 TO ".restore FROM"` and `sqlite3 FROM ".backup TO"` do, in one transaction.
void copy(const std::string& from, const std::string& to) {
  const Handle source = handle_of(from);
  const Handle target = handle_of(to);
  sqlite3_backup* const backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
  if (backup == nullptr) throw std::runtime_error(sqlite3_errmsg(target.get()));
  sqlite3_backup_step(backup, -1);
  if (const int code = sqlite3_backup_finish(backup); code != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errstr(code));
  }
}

class SqliteRestore : public testing::Test {
 protected:
  Folder folder_;
  const std::string file_ = folder_.file("locks.db");
  const std::string kept_ = folder_.file("kept.db");
  const std::string url_ = folder_.url("locks.db");
};

// SEM 7: otherwise it would be granted two reads where one is allowed.
TEST_F(SqliteRestore, PermitsOfBeforeTheRestoringAreStale) {
  Locks locks = open(url_, {.refresh_config = 1h}).value();
  Locks admin = open(url_).value();
  ASSERT_TRUE(admin.set_permits("other", Mode::read, 2));
  copy(file_, kept_);
  ASSERT_TRUE(admin.set_permits("x", Mode::read, 1000));
  ASSERT_TRUE(locks.load_config());
  ASSERT_EQ(locks.config()->permits_of("x").read, 1000U);

  copy(kept_, file_);
  ASSERT_EQ(admin.load_config().value().permits_of("x").read, 1U);
  ASSERT_TRUE(admin.set_permits("x", Mode::read, 1));

  ASSERT_EQ(locks.config()->permits_of("x").read, 1000U) << "what it decides from";
  EXPECT_NE(locks.try_locks({read("x")}).value(), Stamp{});
  EXPECT_EQ(locks.try_locks({read("x")}).value(), Stamp{}) << "one read is allowed";
}

// SEM 7: nor is an unchanged configuration the same as the one from before
TEST_F(SqliteRestore, TheRestoredConfigurationCountsAtOnce) {
  Locks locks = open(url_, {.refresh_config = 1h}).value();
  Locks admin = open(url_).value();
  copy(file_, kept_);
  ASSERT_TRUE(admin.set_permits("x", Mode::read, 1000));
  ASSERT_TRUE(locks.load_config());
  copy(kept_, file_);
  EXPECT_NE(locks.try_locks({read("x")}).value(), Stamp{});
  EXPECT_EQ(locks.try_locks({read("x")}).value(), Stamp{}) << "one read is allowed";
}

// SEM 12: the epoch of an application is part of it.
TEST_F(SqliteRestore, AnEpochOfBeforeTheRestoringIsStale) {
  Locks locks = open(url_, {.app = "other", .refresh_config = 1h}).value();
  copy(file_, kept_);
  { ASSERT_TRUE(open(url_, {.app = "billing", .reclaim = true})); }
  const std::int64_t before = locks.load_config().value().version;
  copy(kept_, file_);
  { ASSERT_TRUE(open(url_, {.app = "shipping", .reclaim = true})); }
  EXPECT_NE(open(url_, {.app = "look"}).value().config()->version, before);
}

}  // namespace
}  // namespace lockset::test
