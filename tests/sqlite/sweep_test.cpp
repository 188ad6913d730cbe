// SEM 10: the sweep removes what no client asks for any more, and nothing else.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "backends/sqlite/side_file.h"
#include "lockset/registry.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

class SqliteSweep : public testing::Test {
 protected:
  // Holds of the names n1 to n<count>, with the stamps 1 to `count`.
  void add_holds(int count, const std::string& expires_boot_us) {
    database_.run(
        "BEGIN IMMEDIATE; "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(count) +
        ") INSERT INTO holds(stamp, token, app, instance, epoch, label, since_wall_us, "
        "lease_us, expires_boot_us, expires_wall_us, items) SELECT i, zeroblob(16), 'app', 'i', 0, "
        "'', 0, 1000000, " +
        expires_boot_us +
        ", 0, cast(char(1, 1 + length(i)) || 'n' || i AS BLOB) FROM n; "
        "INSERT INTO hold_names SELECT cast('n' || stamp AS BLOB), stamp, 1 FROM holds; COMMIT");
  }
  std::size_t sweep() { return backend_->sweep(soon()).value(); }
  std::int64_t count(const std::string& table) {
    return database_.number("SELECT count(*) FROM " + table);
  }

  Folder folder_;
  const std::string path_ = folder_.file("locks.db");
  const std::shared_ptr<Backend> backend_ = open_backend(folder_.url("locks.db"), soon()).value();
  Database database_{path_};
  Client client_{backend_};
};

// SEM 10, 20: its holder renews late, but in time: between the look and the removal
TEST_F(SqliteSweep, AHoldThatIsRenewedMeanwhileStays) {
  const Stamp stamp = client_.take({write("a")}).stamp;
  database_.run("UPDATE holds SET expires_boot_us = 1");
  // The look can run beside a writer; the removal waits for this one.
  database_.run("BEGIN IMMEDIATE");
  std::size_t removed = 1;
  std::thread sweeper([&] { removed = backend_->sweep(BootClock::now() + 60s).value(); });
  const auto gate = sqlite::SideFile::open(path_).value();
  constexpr std::int64_t work = 1;  // the part of the gate where writers stand
  EXPECT_TRUE(eventually([&] {
    if (!gate->try_lock(work)) return true;
    gate->unlock(work);
    return false;
  })) << "the sweep found nothing to remove";
  database_.run("UPDATE holds SET expires_boot_us = 1 << 60; COMMIT");
  sweeper.join();
  EXPECT_EQ(removed, 0U);
  EXPECT_TRUE(client_.is_live(stamp));
}

TEST_F(SqliteSweep, WakesThoseWhoWait) {
  client_.take({write("a")});
  Client waiter(backend_, "waiter");
  waiter.meet_busy({write("a")}, {.will_wait = true});
  database_.run("UPDATE holds SET expires_boot_us = 1");
  EXPECT_EQ(sweep(), 1U);
  EXPECT_EQ(database_.number("SELECT count(*) FROM waiters WHERE woken_boot_us IS NOT NULL"), 1);
}

// Renewals wait for the sweep.
TEST_F(SqliteSweep, RemovesABoundedNumberEachTime) {
  add_holds(1200, "1");
  EXPECT_EQ(sweep(), 500U);
  EXPECT_EQ(count("holds"), 700);
  EXPECT_EQ(sweep(), 500U);
  EXPECT_EQ(sweep(), 200U);
  EXPECT_EQ(count("hold_names"), 0);
}

// There are more of them than one sweep looks at.
TEST_F(SqliteSweep, ComesToWhatStandsBehindManyLiveHolds) {
  add_holds(20'001, "iif(i = 20001, 1, 1 << 60)");
  std::size_t removed = 0;
  for (int i = 0; i < 3; ++i) removed += sweep();
  EXPECT_EQ(removed, 1U);
  EXPECT_EQ(count("holds"), 20'000);
}

// SEM 19: waiters that were killed, which nothing else takes out of their lines
TEST_F(SqliteSweep, RemovesExpiredWaitersAndNoOthers) {
  client_.take({write("a")});
  Client waiter(backend_, "waiter");
  waiter.meet_busy({write("a")}, {.will_wait = true});
  Client killed(backend_, "killed");
  killed.meet_busy({write("a")}, {.will_wait = true});
  ASSERT_EQ(database_.run("UPDATE waiters SET expires_boot_us = 1 WHERE app = 'killed'"), 1);
  sweep();
  EXPECT_EQ(database_.texts("SELECT app FROM waiters"), std::vector<std::string>{"waiter"});
  EXPECT_EQ(count("waiter_names"), 1);
}

// SEM 8: the calendar was set back, or it is the same microsecond
TEST(SqliteStamps, GrowWhileTheyAreAheadOfTheClock) {
  Folder folder;
  Client client(std::shared_ptr<Backend>(open_backend(folder.url("locks.db"), soon()).value()));
  Database(folder.file("locks.db")).run("UPDATE space SET last_stamp = last_stamp + (1 << 60)");
  const Stamp first = client.take({write("a")}).stamp;
  const Stamp second = client.take({write("b")}).stamp;
  EXPECT_GT(first, Stamp{std::int64_t{1} << 60});
  EXPECT_GT(second, first);
}

}  // namespace
}  // namespace lockset::test
