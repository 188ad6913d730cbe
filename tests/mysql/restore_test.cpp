// SEM 7: a restored backup brings rows back, but never a version with another meaning.
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Restore : public MysqlTest {
 protected:
  // As a dump does: the rows, and the statements that restore them into emptied tables.
  void back_up() {
    for (const char* const rest : tables_) {
      admin().rows("CREATE TABLE " + table(rest) + "_b AS SELECT * FROM " + table(rest));
    }
  }
  void restore() {
    admin().rows("START TRANSACTION");
    for (const char* const rest : tables_) {
      admin().rows("DELETE FROM " + table(rest));
      admin().rows("INSERT INTO " + table(rest) + " SELECT * FROM " + table(rest) + "_b");
    }
    admin().rows("COMMIT");
  }

 private:
  static constexpr const char* tables_[] = {"_names", "_locks",   "_lock_permits", "_epochs",
                                            "_space", "_waiters", "_waiter_names", "_traces"};
};

TEST_P(Restore, AVersionDoesNotComeAgainWithAnotherMeaning) {
  Client steers = client("steers");
  back_up();
  steers.set_permits("x", Mode::read, 1000);
  Client remembers = client("remembers");
  const std::int64_t then = remembers.config().version;
  ASSERT_EQ(remembers.config().permits_of("x").read, 1000U);
  restore();
  steers.set_permits("x", Mode::read, 1);
  EXPECT_GT(steers.config().version, then);
  const auto outcome = remembers.ask_once({read("x")});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
  EXPECT_TRUE(remembers.try_take({read("x")}));
  EXPECT_FALSE(remembers.try_take({read("x")})) << "two reads where one is allowed";
}

// The same for the changes of reclaim.
TEST_P(Restore, AnEpochsVersionDoesNotComeAgain) {
  Client mine = client();
  back_up();
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  ASSERT_TRUE(mine.backend().reclaim("app", epoch, soon()));
  mine.reload();
  const std::int64_t then = mine.config().version;
  restore();
  mine.set_permits("y", Mode::read, 2);
  EXPECT_GT(mine.config().version, then);
}

// Tables that are made again begin above all earlier versions.
TEST_P(Restore, ASpaceThatIsMadeAgainBeginsAbove) {
  Client mine = client();
  mine.set_permits("x", Mode::read, 1000);
  const std::int64_t then = mine.config().version;
  for (const char* const rest : {"_space", "_lock_permits"}) {
    admin().rows("DROP TABLE " + table(rest));
  }
  ASSERT_TRUE(init_space(url(), soon()));
  mine.reload();
  EXPECT_GT(mine.config().version, then);
}

// If the clock was set back, versions are counted.
TEST_P(Restore, AVersionNeverFallsBelowTheLast) {
  Client mine = client();
  constexpr std::int64_t ahead = 9'000'000'000'000'000;
  admin().rows("UPDATE " + table("_space") + " SET config_version = " + std::to_string(ahead));
  mine.set_permits("x", Mode::read, 2);
  EXPECT_EQ(mine.config().version, ahead + 1);
}

LOCKSET_MYSQL_SERVERS(Restore);

}  // namespace
}  // namespace lockset::mysql_tests
