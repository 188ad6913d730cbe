// SEM 19: rows of names are collected, and no wrong grant comes from that.
#include <array>
#include <atomic>

#include "tests/mysql/fixture.h"
#include "tests/support/effort.h"

namespace lockset::mysql_tests {
namespace {

class Collect : public MysqlTest {
 protected:
  std::int64_t rows() { return admin().number("SELECT COUNT(*) FROM " + table("_names")); }
  // As if nobody had used them for a long time.
  void age() { admin().rows("UPDATE " + table("_names") + " SET low = 0"); }
};

TEST_P(Collect, TakesIdleNamesAndLeavesHeldOnes) {
  Client mine = client();
  const Stamp held = mine.take({write("held"), write("held too")}).stamp;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(mine.release(mine.take({write("n" + std::to_string(i))}).stamp));
  }
  ASSERT_GE(rows(), 52);
  ASSERT_TRUE(mine.backend().sweep(soon()));
  EXPECT_GE(rows(), 52) << "used a moment ago";
  age();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(mine.backend().sweep(soon()));
  EXPECT_EQ(rows(), 2);
  const Stamp next = mine.take({write("n7")}).stamp;
  EXPECT_GT(next, held);
  mine.meet_busy({write("held too")});
}

// Expired holds that nobody asked for again are removed as a whole.
TEST_P(Collect, ExpiredHoldsAreSwept) {
  Client mine = client();
  for (int i = 0; i < 20; ++i) {
    mine.take({write("a" + std::to_string(i)), write("b" + std::to_string(i))}, {.lease = 10ms});
  }
  const Stamp live = mine.take({write("live")}).stamp;
  std::size_t removed = 0;
  EXPECT_TRUE(eventually([&] { return (removed += mine.backend().sweep(soon()).value()) == 20; }));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_locks")), 1);
  EXPECT_TRUE(mine.is_live(live));
}

// SEM 4, 19: names whose rows vanish all the time exclude as other names do
TEST_P(Collect, IsSafeUnderAcquires) {
  constexpr int names = 3;
  const int least = test::rounds(150, 1000);
  const std::shared_ptr<Backend> backend = open();
  std::array<std::atomic<int>, names> inside{};
  std::atomic<int> grants = 0;
  std::atomic<int> violations = 0;
  std::atomic<int> collected = 0;
  // For machines on which that never is so.
  const TimePoint limit = BootClock::now() + std::chrono::minutes(5);
  const auto enough = [&] {
    return (grants >= least && collected >= 3) || BootClock::now() >= limit;
  };
  test::run_threads(8, [&](std::size_t index) {
    if (index == 0) {
      const auto mine = session();
      while (!enough()) {
        // Collecting skips a row that somebody has locked, so this waits for nobody.
        (void)mine->code_of("UPDATE " + table("_names") + " SET low = 0 WHERE name = 'n" +
                            std::to_string(grants % names) + "'");
        const std::int64_t before = mine->number("SELECT COUNT(*) FROM " + table("_names"));
        ASSERT_TRUE(backend->sweep(soon()));
        if (mine->number("SELECT COUNT(*) FROM " + table("_names")) < before) ++collected;
      }
      return;
    }
    Client mine(backend, "app" + std::to_string(index));
    for (int i = static_cast<int>(index); !enough(); ++i) {
      const int first = i % names;
      const int second = (i + 1) % names;
      const auto grant =
          mine.try_take({write("n" + std::to_string(first)), write("n" + std::to_string(second))});
      if (!grant) continue;
      ++grants;
      for (const int name : {first, second}) {
        if (++inside[static_cast<std::size_t>(name)] > 1) ++violations;
      }
      for (const int name : {first, second}) --inside[static_cast<std::size_t>(name)];
      EXPECT_TRUE(mine.release(grant->stamp));
    }
  });
  EXPECT_EQ(violations, 0);
  EXPECT_GE(grants, least);
  EXPECT_GE(collected, 3) << "nothing was collected meanwhile";
  RecordProperty("collected", collected);
}

LOCKSET_MYSQL_STRATEGIES(Collect);

}  // namespace
}  // namespace lockset::mysql_tests
