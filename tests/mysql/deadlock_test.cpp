// SEM 14: deadlocks between transactions. select-for-update has none; other collisions stay inside,
// and the Observer learns of them.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/mysql/fixture.h"
#include "tests/support/event_counts.h"

namespace lockset::mysql_tests {
namespace {

class Deadlocks : public MysqlTest {};

// Checks the counter that the next test relies on.
TEST_P(Deadlocks, AreCountedByTheServer) {
  const std::int64_t before = deadlocks();
  admin().rows("INSERT INTO " + table("_names") + " VALUES ('a', 0, 0), ('b', 0, 0)");
  const auto one = session();
  const auto other = session();
  const auto lock = [&](RawMysql& who, const std::string& name) {
    return who.code_of("SELECT low FROM " + table("_names") + " WHERE name = '" + name +
                       "' FOR UPDATE");
  };
  one->rows("START TRANSACTION");
  other->rows("START TRANSACTION");
  ASSERT_EQ(lock(*one, "a"), 0);
  ASSERT_EQ(lock(*other, "b"), 0);
  int code = 0;
  std::thread thread([&] { code = lock(*one, "b"); });
  EXPECT_TRUE(rows_are_waited_for());
  const int other_code = lock(*other, "a");
  other->rows("ROLLBACK");
  thread.join();
  EXPECT_EQ(std::max(code, other_code), 1213);
  EXPECT_TRUE(eventually([&] { return deadlocks() == before + 1; }));
}

// Sets in all orders over a few hot names
TEST_P(Deadlocks, CrossedOrdersMakeNoneThatShow) {
  const auto counts = std::make_shared<test::EventCounts>();
  const std::int64_t before = deadlocks();
  Options options;
  options.app = "crossed";
  options.observer = counts;
  Locks locks = lockset::open(open_backend(url(), soon()).value(), options).value();
  std::atomic<int> grants = 0;
  test::Progress progress;
  test::run_threads(12, [&](std::size_t index) {
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    std::vector<std::string> names{"a", "b", "c", "d", "e"};
    while (grants < 200 && !progress.stuck()) {
      std::shuffle(names.begin(), names.end(), random);
      std::vector<LockRequest> wanted;
      for (std::size_t i = 0; i < 2 + index % 3; ++i) {
        wanted.push_back(random() % 3 == 0 ? read(names[i]) : write(names[i]));
      }
      // Mostly tries: transactions should meet, not waiters.
      Result<std::optional<Hold>> hold = locks.try_acquire(wanted);
      ASSERT_TRUE(hold) << hold.error().message;
      if (!*hold) continue;
      ++grants;
      progress.step();
    }
  });
  const std::int64_t made = deadlocks() - before;
  RecordProperty("deadlocks", static_cast<int>(made));
  RecordProperty("collisions", static_cast<int>(counts->collisions));
  RecordProperty("grants", grants);
  EXPECT_GE(grants, 200);
  EXPECT_EQ(counts->retried, 0);
  if (strategy() == "select-for-update") {
    EXPECT_EQ(made, 0) << admin().rows("SHOW ENGINE INNODB STATUS").at(0).at(2).value();
    EXPECT_EQ(counts->collisions, 0U);
  }
}

// A deadlock that certainly happens: a heavier transaction in crossed order, so that the server
// chooses ours as the victim.
TEST_P(Deadlocks, OneThatHitsUsIsRepeatedInsideAndTold) {
  const auto counts = std::make_shared<test::EventCounts>();
  Options options;
  options.app = "app";
  options.observer = counts;
  Locks locks = lockset::open(open_backend(url(), soon()).value(), options).value();
  admin().rows("INSERT INTO " + table("_names") + " VALUES ('a', 0, 0), ('b', 0, 0)");
  const auto heavy = session();
  heavy->rows("START TRANSACTION");
  std::string many = "INSERT INTO " + table("_names") + " VALUES ('x0', 0, 0)";
  for (int i = 1; i < 200; ++i) many += ", ('x" + std::to_string(i) + "', 0, 0)";
  heavy->rows(many);
  heavy->rows("UPDATE " + table("_names") + " SET gen = gen + 1 WHERE name = 'b'");
  Result<std::optional<Hold>> hold = std::optional<Hold>();
  const std::int64_t before = deadlocks();
  std::thread thread([&] { hold = locks.try_acquire({write("a"), write("b")}); });
  EXPECT_TRUE(rows_are_waited_for());
  EXPECT_EQ(heavy->code_of("UPDATE " + table("_names") + " SET gen = gen + 1 WHERE name = 'a'"), 0);
  EXPECT_TRUE(eventually([&] { return deadlocks() > before; }));
  heavy->rows("COMMIT");
  thread.join();
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_TRUE(*hold) << "a deadlock was taken for contention";
  EXPECT_GE(counts->collisions, 1U);
  EXPECT_EQ(counts->retried, 0);
}

LOCKSET_MYSQL_STRATEGIES(Deadlocks);

}  // namespace
}  // namespace lockset::mysql_tests
