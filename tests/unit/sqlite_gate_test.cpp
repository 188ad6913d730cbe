// The SQLite backend's queue of threads and gate of processes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/sqlite/file_gate.h"
#include "backends/sqlite/side_file.h"
#include "backends/sqlite/turn_queue.h"
#include "tests/support/wait.h"

namespace lockset::sqlite {
namespace {

using namespace std::chrono_literals;

using test::in;

class SqliteGate : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "lockset-gate-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    std::ofstream(database()).put('x');
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string database() const { return (folder_ / "a.db").string(); }
  // Each is what a process of its own would have.
  std::unique_ptr<SideFile> open() const { return SideFile::open(database()).value(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(SqliteGate, AdmitsOneAtATime) {
  int inside = 0;
  int most = 0;
  int entered = 0;
  std::atomic<int> racing{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const std::unique_ptr<SideFile> file = open();
      FileGate gate(*file);
      for (int n = 0; n < 200; ++n) {
        const FileGate::Pass pass = gate.enter(in(30s));
        most = std::max(most, racing.fetch_add(1) + 1);
        ++inside;  // a race, should the gate ever admit two
        ++entered;
        --inside;
        --racing;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(entered, 800);
}

TEST_F(SqliteGate, IsPassedByWhenItsHolderIsStuck) {
  const std::unique_ptr<SideFile> stuck = open();
  ASSERT_TRUE(stuck->try_lock(1));  // as a stopped process would
  const std::unique_ptr<SideFile> file = open();
  FileGate gate(*file);
  const TimePoint start = BootClock::now();
  { const FileGate::Pass pass = gate.enter(in(30s)); }
  const Duration first = BootClock::now() - start;
  EXPECT_GE(first, 400ms);
  EXPECT_LE(first, 10s);
  // Found stuck once, it costs nobody the same wait again: together less than ten of them.
  for (int i = 0; i < 20; ++i) const FileGate::Pass pass = gate.enter(in(30s));
  EXPECT_LE(BootClock::now() - start - first, 10 * 400ms);
}

TEST_F(SqliteGate, ReturnsAtTheDeadline) {
  const std::unique_ptr<SideFile> stuck = open();
  ASSERT_TRUE(stuck->try_lock(1));
  const std::unique_ptr<SideFile> file = open();
  const TimePoint start = BootClock::now();
  for (int i = 0; i < 10; ++i) {
    FileGate gate(*file);
    const FileGate::Pass pass = gate.enter(in(50ms));
  }
  EXPECT_GE(BootClock::now() - start, 10 * 45ms);
  EXPECT_LE(BootClock::now() - start, 10 * 400ms) << "as long as for one that is stuck";
}

TEST_F(SqliteGate, FreesItselfWhenTheHolderDies) {
  std::unique_ptr<SideFile> dying = open();
  ASSERT_TRUE(dying->try_lock(1));
  const std::unique_ptr<SideFile> file = open();
  EXPECT_FALSE(file->try_lock(1));
  dying.reset();  // closed, as at death: no word is raised
  EXPECT_TRUE(file->try_lock(1));
}

TEST(SqliteTurnQueue, GivesUpAtTheDeadline) {
  TurnQueue queue;
  {
    const TurnQueue::Turn turn = queue.enter(in(1s));
    ASSERT_TRUE(turn);
    EXPECT_FALSE(queue.enter(in(10ms)));
    EXPECT_FALSE(queue.enter(in(-1s)));
  }
  EXPECT_TRUE(queue.enter(in(-1s))) << "a free turn needs no time";
  EXPECT_TRUE(queue.enter(TimePoint::max()));
}

TEST(SqliteTurnQueue, LetsNobodyStarve) {
  TurnQueue queue;
  std::atomic<bool> enough{false};
  std::vector<int> served(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < served.size(); ++i) {
    threads.emplace_back([&, i] {
      while (!enough) {
        const TurnQueue::Turn turn = queue.enter(in(30s));
        if (++served[i] >= 2000) enough = true;
        std::this_thread::sleep_for(20us);  // the others come and queue
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : served) EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace lockset::sqlite
