// SEM 27: the table traces.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

class SqliteTraces : public testing::Test {
 protected:
  [[nodiscard]] Client client(const std::string& app = "app") const {
    return Client(std::shared_ptr<Backend>(open_backend(url_, soon()).value()), app);
  }
  // As if all that was observed and written had been so much earlier.
  void let_pass(std::chrono::microseconds time) {
    Database(folder_.file("locks.db"))
        .run("UPDATE traces SET observed_wall_us = observed_wall_us - " +
             std::to_string(time.count()) + ", written_wall_us = written_wall_us - " +
             std::to_string(time.count()));
  }
  [[nodiscard]] std::int64_t traces() const {
    return Database(folder_.file("locks.db")).number("SELECT count(*) FROM traces");
  }

  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
};

// Names that nobody observes cost nothing.
TEST_F(SqliteTraces, OnlyObservedNamesHaveOne) {
  Client c = client();
  c.take({write("a"), write("b")});
  EXPECT_EQ(traces(), 0);
  c.observe({"a", "c"});
  EXPECT_EQ(traces(), 2);
}

// An observation of a known name is a look: it blocks no writer.
TEST_F(SqliteTraces, ALookWritesNothing) {
  Client c = client();
  c.observe_one("a");
  Database database(folder_.file("locks.db"));
  const std::int64_t before = database.number("PRAGMA data_version");
  c.observe_one("a");
  EXPECT_EQ(database.number("PRAGMA data_version"), before);
  Database writer(folder_.file("locks.db"));
  writer.run("BEGIN IMMEDIATE");
  c.observe_one("a");
  writer.run("ROLLBACK");
  c.observe_one("b");
  EXPECT_NE(database.number("PRAGMA data_version"), before);
}

// SEM 27: not before it went unobserved for 7 days
TEST_F(SqliteTraces, StayForDaysAfterTheyWereObserved) {
  Client c = client();
  const Trace first = c.observe_one("a");
  const Grant grant = c.take({write("a")});
  ASSERT_TRUE(c.release(grant.stamp));
  let_pass(24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  const Trace seen = c.observe_one("a");
  EXPECT_EQ(seen.last_write, grant.stamp);
  ASSERT_TRUE(seen.age_us);
  EXPECT_GE(*seen.age_us, std::chrono::microseconds(24h * 6).count());
  // From that observation on it counts anew.
  let_pass(24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  let_pass(24h);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 1U);
  EXPECT_EQ(traces(), 0);
  EXPECT_GT(c.observe_one("a").last_write, grant.stamp);
  EXPECT_NE(first.last_write, grant.stamp);
}

// A space with more of them than one call removes
TEST_F(SqliteTraces, AreSweptInParts) {
  Client c = client();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 3 * max_set_size; ++i) {
    names.push_back(std::to_string(10000 + i));
    if (names.size() < max_set_size) continue;
    c.observe(names);
    names.clear();
  }
  const std::size_t some = c.backend().sweep_traces(Duration::zero(), soon()).value();
  EXPECT_GT(some, 0U);
  EXPECT_LT(some, 3 * max_set_size);
  EXPECT_EQ(c.backend().sweep_traces(Duration::zero(), soon()).value() + some, 3 * max_set_size);
}

// The boot clock of a write is of no use after a reboot. (Where commits may be lost:
// power_cut_test.)
TEST_F(SqliteTraces, OutliveAReboot) {
  Stamp written;
  {
    Client c{std::shared_ptr<Backend>(open_backend(url_ + "?durability=full", soon()).value())};
    c.observe_one("a");
    written = c.take({write("a")}).stamp;
    ASSERT_TRUE(c.release(written));
  }
  Database(folder_.file("locks.db")).run("UPDATE space SET boot_id = 'of the boot before'");
  Client c = client();
  const Trace seen = c.observe_one("a");
  EXPECT_EQ(seen.last_write, written);
  ASSERT_TRUE(seen.age_us);
  EXPECT_LT(*seen.age_us, std::chrono::microseconds(1h).count());
}

// Nobody else asks for the name of a process that has died, and it is not "being written" for ever.
TEST_F(SqliteTraces, TheHoldOfADeadProcessIsNoWrite) {
  Client c = client();
  Locks locks = open(url_).value();
  const Hold hold = locks.acquire({write("a")}).value();
  EXPECT_TRUE(c.observe_one("a").being_written);
  // As if it had locked a byte that nobody has locked now.
  Database(folder_.file("locks.db")).run("UPDATE holds SET life_byte = life_byte - 1");
  const Trace seen = c.observe_one("a");
  EXPECT_FALSE(seen.being_written);
  EXPECT_TRUE(c.holds().empty());
}

// Programs of version 2 may still have the file open when a newer one adds the traces.
TEST_F(SqliteTraces, AFileOfVersion2GetsThem) {
  { client().take({write("a")}); }
  Database older(folder_.file("locks.db"));
  for (const char* change :
       {"DROP TRIGGER trace_write", "DROP TABLE traces",
        "ALTER TABLE space DROP COLUMN stamp_ceiling", "PRAGMA user_version = 2"}) {
    older.run(change);
  }
  Client c = client();
  EXPECT_EQ(older.number("PRAGMA user_version"), 4);
  EXPECT_TRUE(c.observe_one("x").last_write);
  const std::int64_t stamp = c.observe_one("y").last_write.value + 1;
  older.run("BEGIN IMMEDIATE");
  older.run("INSERT INTO holds VALUES (" + std::to_string(stamp) +
            ", zeroblob(16), 'old', 'i', 0, 'sam@office', 1000000, 60000000, NULL, NULL, "
            "x'01017800017a', NULL, NULL)");
  older.run("INSERT INTO hold_names VALUES (CAST('x' AS BLOB), " + std::to_string(stamp) + ", 1)");
  older.run("INSERT INTO hold_names VALUES (CAST('z' AS BLOB), " + std::to_string(stamp) + ", 0)");
  older.run("COMMIT");
  const Trace seen = c.observe_one("x");
  EXPECT_EQ(seen.last_write.value, stamp);
  EXPECT_EQ(seen.label, "sam@office");
  EXPECT_TRUE(seen.being_written);
}

}  // namespace
}  // namespace lockset::test
