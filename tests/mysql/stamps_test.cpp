// SEM 8: no stamp is used again, whatever happened to the counter.
#include <algorithm>
#include <mutex>
#include <vector>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Stamps : public MysqlTest {
 protected:
  // Sets the counter as a dump restores it: behind everything that was issued since. InnoDB does
  // not lower it below existing rows.
  void put_the_counter_back(const std::string& to = "1") {
    admin().rows("DELETE FROM " + table("_locks"));
    admin().rows("ALTER TABLE " + table("_locks") + " AUTO_INCREMENT = " + to);
    ASSERT_LT(admin().number("SELECT AUTO_INCREMENT FROM information_schema.tables WHERE "
                             "table_schema = DATABASE() AND table_name = '" +
                             table("_locks") + "'"),
              1'000'000'000);
  }
};

// SEM 8: set back behind the issued stamps
TEST_P(Stamps, ACounterThatWasPutBackIsRaised) {
  if (!is_mariadb()) admin().rows("SET SESSION information_schema_stats_expiry = 0");
  Client mine = client();
  Stamp last = mine.take({write("a")}).stamp;
  for (int round = 0; round < 3; ++round) {
    put_the_counter_back(round == 2 ? "1000" : "1");
    const Stamp next = mine.take({write("a"), write("b")}).stamp;
    EXPECT_GT(next, last);
    last = next;
    // One step later it is in order again.
    ASSERT_TRUE(mine.release(next));
    const Stamp after = mine.take({write("c")}).stamp;
    EXPECT_GT(after, last);
    last = after;
  }
}

// SEM 8: tables that were dropped and made again
TEST_P(Stamps, TablesThatWereMadeAgain) {
  const Stamp before = client().take({write("a")}).stamp;
  for (const char* const rest : {"_space", "_locks", "_names", "_lock_permits", "_epochs",
                                 "_waiters", "_waiter_names", "_traces"}) {
    admin().rows("DROP TABLE " + table(rest));
  }
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_GT(client().take({write("a")}).stamp, before);
}

// SEM 8: a counter behind the space's stamp base and the requested minimum
TEST_P(Stamps, TheBaseAndTheLeastAreKept) {
  Client mine = client();
  const Stamp now = mine.take({write("a")}).stamp;
  const Stamp least{now.value + 10'000'000'000};
  EXPECT_GE(mine.take({write("b")}, {.min_stamp = least}).stamp, least);
  const Stamp base{least.value + 10'000'000'000};
  mine.change(RaiseStampBase{base});
  EXPECT_GT(mine.take({write("c")}).stamp, base);
  EXPECT_GT(mine.take({write("d")}).stamp, base);
}

// SEM 8: also on the short way, which is for one name that is known
TEST_P(Stamps, TheBaseAndTheLeastAreKeptForAKnownName) {
  Client mine = client();
  const auto next = [&](Stamp least = {}) {
    const Stamp stamp = mine.take({write("a")}, {.min_stamp = least}).stamp;
    EXPECT_TRUE(mine.release(stamp));
    return stamp;
  };
  static_cast<void>(next());
  const Stamp least{next().value + 10'000'000'000};
  EXPECT_GE(next(least), least);
  const Stamp base{least.value + 10'000'000'000};
  mine.change(RaiseStampBase{base});
  EXPECT_GT(next(), base);
}

// SEM 8: raised to the clock where the counter was found behind
TEST_P(Stamps, ACounterThatWasPutBackIsRaisedForAKnownName) {
  if (!is_mariadb()) admin().rows("SET SESSION information_schema_stats_expiry = 0");
  Client mine = client();
  const Stamp before = mine.take({write("a")}).stamp;
  put_the_counter_back();
  admin().rows("UPDATE " + table("_names") + " SET low = 0");
  EXPECT_GT(mine.take({write("a")}).stamp, before);
}

// SEM 4: what an acquire need not look at lies below the oldest hold, not the newest
TEST_P(Stamps, TheOldestOfSeveralHoldsIsSeen) {
  Client mine = client();
  mine.set_permits("a", Mode::read, 2);
  mine.take({read("a")});
  // As if the name had not been used for a while.
  admin().rows("UPDATE " + table("_names") + " SET low = low - 10000000");
  EXPECT_TRUE(mine.release(mine.take({read("a")}).stamp));
  mine.meet_busy({write("a")});
}

// SEM 8: several who raise the counter at the same time: no error surfaces, all differ, and
// who asked later has the greater one
TEST_P(Stamps, SeveralRaiseTheCounterAtOnce) {
  constexpr std::size_t clients = 6;
  if (!is_mariadb()) admin().rows("SET SESSION information_schema_stats_expiry = 0");
  std::vector<Client> each;
  for (std::size_t i = 0; i < clients; ++i) {
    each.push_back(client("app" + std::to_string(i)));
    each.back().take({write("n" + std::to_string(i))});
  }
  Stamp highest = each.front().take({write("other")}).stamp;
  for (int round = 0; round < 12; ++round) {
    put_the_counter_back();
    std::vector<Stamp> drawn;
    std::mutex mutex;
    test::run_threads(clients, [&](std::size_t index) {
      for (int i = 0; i < 3; ++i) {
        const std::string name = "n" + std::to_string(index);
        const Stamp first = each[index].take({write(name)}).stamp;
        ASSERT_TRUE(each[index].release(first));
        const std::scoped_lock lock(mutex);
        EXPECT_GT(first, highest);
        drawn.push_back(first);
      }
    });
    std::sort(drawn.begin(), drawn.end());
    EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end()) << "a stamp twice";
    ASSERT_EQ(drawn.size(), 3 * clients);
    highest = drawn.back();
  }
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_locks") + " WHERE name = ''"), 0);
}

// SEM 8: servers that count in steps
TEST_P(Stamps, GrowWithStridesToo) {
  set_global("auto_increment_increment", "7");
  set_global("auto_increment_offset", "3");
  Client mine = client();
  Stamp last;
  for (int i = 0; i < 20; ++i) {
    const Stamp next = mine.take({write("n" + std::to_string(i))}).stamp;
    EXPECT_GT(next, last);
    last = next;
  }
}

LOCKSET_MYSQL_STRATEGIES(Stamps);

}  // namespace
}  // namespace lockset::mysql_tests
