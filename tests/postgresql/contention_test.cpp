// Many clients at once: independent ones do not disturb each other, and the others meet no error.
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "tests/postgresql/fixture.h"
#include "tests/support/effort.h"
#include "tests/support/event_counts.h"
#include "tests/support/seed.h"

namespace lockset::postgresql_tests {
namespace {

class Contention : public PostgresqlTest {
 protected:
  // How many deadlocks the server has reported so far.
  static std::size_t deadlocks() {
    std::ifstream log(server().folder() / "server.log");
    std::size_t count = 0;
    for (std::string line; std::getline(log, line);) count += says(line, "deadlock detected");
    return count;
  }
};

TEST_P(Contention, DisjointNamesDoNotCollide) {
  constexpr std::size_t clients = 16;
  constexpr int rounds = 70;
  std::vector<std::shared_ptr<Backend>> backends;
  for (std::size_t i = 0; i < clients; ++i) backends.push_back(open());
  // New names in a table with almost no rows, then with statistics of that state.
  for (const char* const when : {"new", "analysed"}) {
    std::atomic<std::uint32_t> collisions = 0;
    test::run_threads(clients, [&](std::size_t i) {
      Client mine(backends[i], "app" + std::to_string(i));
      const std::string name = "n" + std::to_string(i);
      for (int n = 0; n < rounds; ++n) {
        const Grant grant = mine.take({write(name), read(name + "'")});
        collisions += grant.collisions;
        EXPECT_TRUE(mine.release(grant.stamp));
      }
    });
    const double share = collisions / static_cast<double>(clients * rounds);
    EXPECT_LT(share, strategy() == "advisory" ? 0.01 : 0.05) << when;
    std::printf("%s, %s tables: %.2f %% of the grants repeated\n", strategy().c_str(), when,
                100 * share);
    admin().run("ANALYZE " + space() + ".locks");
    if (strategy() == "serializable") admin().run("ANALYZE " + space() + ".names");
  }
}

// SEM 27: nor do their traces, while others look at them
TEST_P(Contention, ObservedNamesDoNotCollide) {
  constexpr std::size_t writers = 8;
  constexpr int rounds = 100;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < writers; ++i) names.push_back("n" + std::to_string(i));
  client().observe(names);
  std::vector<std::shared_ptr<Backend>> backends;
  for (std::size_t i = 0; i < writers + 2; ++i) backends.push_back(open());
  std::atomic<std::uint32_t> collisions = 0;
  std::atomic<std::size_t> writing = writers;
  test::run_threads(writers + 2, [&](std::size_t i) {
    Client mine(backends[i], "app" + std::to_string(i));
    while (i >= writers && writing > 0) mine.observe(names);
    if (i >= writers) return;
    const AtEnd end([&] { --writing; });
    for (int n = 0; n < rounds; ++n) {
      const Grant grant = mine.take({write(names[i]), read(names[i] + "'")});
      if (n > 0) collisions += grant.collisions;  // at first the names are new
      EXPECT_TRUE(mine.release(grant.stamp));
    }
  });
  const double share = collisions / static_cast<double>(writers * rounds);
  EXPECT_LT(share, strategy() == "advisory" ? 0.01 : 0.05);
  std::printf("%s, observed: %.2f %% of the grants repeated\n", strategy().c_str(), 100 * share);
}

// SEM 27: rows of traces are locked by grants, by observers who note that they looked, by those who
// make them, and by sweeps
TEST_P(Contention, TracesMeetNoDeadlock) {
  constexpr std::size_t names = 6;
  const std::size_t before = deadlocks();
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  const std::shared_ptr<Backend> shared = open();
  std::atomic<std::size_t> working = 8;
  std::atomic<int> swept = 0;
  test::run_threads(10, [&](std::size_t i) {
    std::mt19937_64 dice(seed + i);
    Client mine(shared, "app" + std::to_string(i));
    if (i == 8) {  // all were observed long ago
      Session raw;
      while (working > 0) {
        raw.run("UPDATE " + space() + ".traces SET observed = observed - interval '2 days' " +
                "WHERE name = 'n" + std::to_string(dice() % names) + "'");
      }
      return;
    }
    if (i == 9) {
      while (working > 0) {
        swept += static_cast<int>(shared->sweep_traces(24h, soon()).value());
        test::linger(5ms);
      }
      return;
    }
    const AtEnd end([&] { --working; });
    for (int n = 0; n < 60; ++n) {
      std::array<std::size_t, names> order{0, 1, 2, 3, 4, 5};
      std::shuffle(order.begin(), order.end(), dice);
      if (i % 2 == 0) {
        std::vector<std::string> some;
        for (std::size_t k = 0; k < 4; ++k) some.push_back("n" + std::to_string(order[k]));
        std::sort(some.begin(), some.end());
        mine.observe(some);
        continue;
      }
      test::Wanted wanted;
      for (std::size_t k = 0; k < 3; ++k) wanted.push_back(write("n" + std::to_string(order[k])));
      if (const std::optional<Grant> grant = mine.try_take(wanted)) mine.release(grant->stamp);
    }
  });
  EXPECT_EQ(deadlocks(), before);
  EXPECT_GT(swept, 0);
}

// A transaction that raises a lagging sequence keeps no lock of it: it may still wait for names.
TEST_P(Contention, RaisingTheStampsDelaysNobodyElse) {
  Client other = client("other");
  for (const char* const name : {"a", "b"}) other.release(other.take({write(name)}).stamp);
  const auto fall_behind = [] { test::linger(100ms); };
  fall_behind();
  Session one;
  one.run(begin_sql());
  const AtEnd rollback([&] { one.run("ROLLBACK"); });
  const std::string mine = one.text(acquire_sql("a"));
  ASSERT_EQ(mine.substr(0, 1), "G");
  fall_behind();
  const Stamp next = other.take({write("b")}).stamp;
  EXPECT_GT(next.value, std::stoll(mine.substr(2)));
  fall_behind();
  EXPECT_EQ(other.observe({"c"}).size(), 1U);
}

// SEM 4, 16: sets with common names, given in any order
TEST_P(Contention, CrossedSetsMeetNoError) {
  constexpr std::size_t names = 6;
  std::array<std::atomic<int>, names> holders{};
  std::atomic<int> grants = 0;
  const std::size_t before = deadlocks();
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  const std::shared_ptr<Backend> shared = open();
  test::run_threads(12, [&](std::size_t i) {
    std::mt19937_64 dice(seed + i);
    Client mine(shared, "app" + std::to_string(i));
    for (int n = 0; n < 60; ++n) {
      std::array<std::size_t, names> order{0, 1, 2, 3, 4, 5};
      std::shuffle(order.begin(), order.end(), dice);
      test::Wanted wanted;
      for (std::size_t k = 0; k < 3; ++k) wanted.push_back(write("n" + std::to_string(order[k])));
      const Result<AcquireOutcome> outcome = mine.ask(wanted);
      ASSERT_TRUE(outcome) << outcome.error().message;
      const Grant* const grant = std::get_if<Grant>(&*outcome);
      if (grant == nullptr) continue;
      ++grants;
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(++holders[order[k]], 1);
      for (std::size_t k = 0; k < 3; ++k) --holders[order[k]];
      EXPECT_TRUE(mine.release(grant->stamp));
    }
  });
  EXPECT_GT(grants, 0);
  EXPECT_EQ(deadlocks(), before);
  EXPECT_EQ(count("locks"), 0);
}

// SEM 13: two grants on different names of one waiter, of which the bound allows one
TEST_P(Contention, TheLaterOfTwoThatOvertakeSeesTheOther) {
  Client newcomer = client();
  Client waiter = client("waiter");
  newcomer.change(SetMaxOvertakes{1});
  newcomer.reload();
  waiter.reload();
  newcomer.take({write("c")});
  waiter.meet_busy({write("a"), write("b"), write("c")}, {.will_wait = true});
  Session one;
  one.run(begin_sql());
  std::string overtake = acquire_sql("a");
  overtake.insert(overtake.size() - 1, ", 1");
  ASSERT_EQ(one.text(overtake).substr(0, 1), "G");
  const AtEnd rollback([&] { one.run("ROLLBACK"); });
  std::optional<Result<AcquireOutcome>> outcome;
  {
    std::jthread other([&] { outcome = newcomer.ask({write("b")}); });
    EXPECT_TRUE(somebody_waits("acquire_v2"));
    one.run("COMMIT");
  }
  ASSERT_TRUE(*outcome) << outcome->error().message;
  const Busy* const busy = std::get_if<Busy>(&**outcome);
  ASSERT_TRUE(busy) << "it was granted";
  EXPECT_FALSE(busy->holder);
  EXPECT_EQ(busy->name, "b");
}

// SEM 13: counting who is overtaken locks the rows of several waiters. Grants on different names of
// one waiter, at the same time, don't exceed the bound together.
TEST_P(Contention, BoundsOnOvertakingHoldAndMeetNoDeadlock) {
  constexpr std::size_t names = 6;
  constexpr std::size_t threads = 12;
  const int rounds = test::rounds(7, 50);
  const std::size_t before = deadlocks();
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  for (const std::uint32_t most : {unlimited_overtakes, default_max_overtakes, 1U, 0U}) {
    client().change(SetMaxOvertakes{most});
    const auto events = std::make_shared<test::EventCounts>();
    std::vector<Locks> managers;
    for (int i = 0; i < 3; ++i) {
      Options options;
      options.app = "app" + std::to_string(i);
      options.observer = events;
      managers.push_back(lockset::open(url(), options).value());
    }
    const test::Stopwatch watch;
    std::int64_t worst = 0;
    test::run_threads(threads, [&](std::size_t i) {
      std::mt19937_64 dice(seed + i);
      for (int n = 0; n < rounds; ++n) {
        std::array<std::size_t, names> order{0, 1, 2, 3, 4, 5};
        std::shuffle(order.begin(), order.end(), dice);
        test::Wanted wanted;
        for (std::size_t k = 0; k < 3; ++k) {
          const std::string name = "n" + std::to_string(order[k]);
          wanted.push_back(k == 2 ? read(name) : write(name));
        }
        AcquireOptions how;
        how.wait = 1min;
        Result<Hold> hold = managers[i % managers.size()].acquire(wanted, how);
        ASSERT_TRUE(hold) << hold.error().message;
        if (i == 0) {
          worst = std::max(worst, admin().number("SELECT coalesce(max(overtaken), 0) FROM " +
                                                 space() + ".waiters"));
        }
        EXPECT_TRUE(hold->release());
      }
    });
    EXPECT_EQ(deadlocks(), before);
    EXPECT_LE(worst, std::int64_t{most});
    const std::string bound =
        most == unlimited_overtakes ? std::string("no bound") : "bound " + std::to_string(most);
    std::printf("%s, %s: %.2f s for %zu grants, %u steps repeated, overtaken up to %lld times\n",
                strategy().c_str(), bound.c_str(),
                std::chrono::duration<double>(watch.elapsed()).count(),
                threads * static_cast<std::size_t>(rounds), events->collisions.load(),
                static_cast<long long>(worst));
  }
  EXPECT_TRUE(eventually([&] { return count("waiters") + count("waiter_names") == 0; }));
  EXPECT_EQ(count("locks"), 0);
}

LOCKSET_POSTGRESQL_SUITE(Contention);

}  // namespace
}  // namespace lockset::postgresql_tests
