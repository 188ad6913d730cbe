// SEM 16: lock operations never join the caller's transaction.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "lockset/lockset.h"

namespace lockset {
namespace {

// The caller reads the very same database in the same process, in its own transaction: the grant is
// visible to others at once, and survives the caller's rollback.
TEST(SqliteOwnConnections, ACallersTransactionIsNeverJoined) {
  std::string folder = (std::filesystem::temp_directory_path() / "lockset-own-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/locks.db";
  Locks locks = open("sqlite:" + path).value();
  Locks other = open("sqlite:" + path).value();

  sqlite3* callers = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &callers), SQLITE_OK);
  const auto run = [&](const char* sql) {
    return sqlite3_exec(callers, sql, nullptr, nullptr, nullptr);
  };
  ASSERT_EQ(run("BEGIN; SELECT count(*) FROM holds"), SQLITE_OK);

  Hold hold = locks.acquire({write("a")}).value();
  EXPECT_EQ(other.inspect().value().holds.size(), 1U) << "no commit of the caller's is needed";
  EXPECT_EQ(run("ROLLBACK"), SQLITE_OK);
  EXPECT_EQ(other.inspect().value().holds.size(), 1U) << "no rollback of the caller's undoes it";
  EXPECT_EQ(sqlite3_close(callers), SQLITE_OK);
  EXPECT_EQ(other.try_locks({write("a")}).value(), Stamp{});
  EXPECT_TRUE(hold.release());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockset
