// The SQLite backend's queue of threads and its gate between processes.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
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

using test::eventually;
using test::in;
using test::Stopwatch;

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
  // Each stands for one process.
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
        ++inside;  // a race, if the gate ever admits two
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
  const Stopwatch first;
  { const FileGate::Pass pass = gate.enter(in(30s)); }
  EXPECT_GE(BootClock::now() - first.began(), 400ms);
  EXPECT_LE(first.elapsed(), 10s) << "its deadline was what ended it";
  // After it was found stuck once, nobody waits like that again: together less than ten of them.
  const Stopwatch again;
  for (int i = 0; i < 20; ++i) const FileGate::Pass pass = gate.enter(in(30s));
  EXPECT_LE(again.elapsed(), 10 * 400ms);
}

TEST_F(SqliteGate, ReturnsAtTheDeadline) {
  const std::unique_ptr<SideFile> stuck = open();
  ASSERT_TRUE(stuck->try_lock(1));
  const std::unique_ptr<SideFile> file = open();
  const Stopwatch watch;
  for (int i = 0; i < 10; ++i) {
    FileGate gate(*file);
    const FileGate::Pass pass = gate.enter(in(50ms));
  }
  EXPECT_GE(BootClock::now() - watch.began(), 10 * 45ms);
  EXPECT_LE(watch.elapsed(), 10 * 400ms) << "as long as for one that is stuck";
}

TEST_F(SqliteGate, FreesItselfWhenTheHolderDies) {
  std::unique_ptr<SideFile> dying = open();
  ASSERT_TRUE(dying->try_lock(1));
  const std::unique_ptr<SideFile> file = open();
  EXPECT_FALSE(file->try_lock(1));
  dying.reset();  // closed, as at a death: no word is raised
  EXPECT_TRUE(file->try_lock(1));
}

// Nobody wakes those who wait for it.
TEST_F(SqliteGate, AWaiterFindsOutThatTheHolderDied) {
  std::unique_ptr<SideFile> dying = open();
  ASSERT_TRUE(dying->try_lock(1));
  const std::unique_ptr<SideFile> file = open();
  const std::unique_ptr<SideFile> others = open();
  // The gate moves, so that nobody takes its holder for stuck.
  const std::jthread moving([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ++others->word(32);
      std::this_thread::sleep_for(10ms);
    }
  });
  FileGate gate(*file);
  bool passed = false;
  const Stopwatch watch;
  std::thread waiter([&] { passed = static_cast<bool>(gate.enter(in(20s))); });
  EXPECT_TRUE(eventually([&] { return others->word(48).load() > 0; })) << "nobody waits";
  dying.reset();
  waiter.join();
  EXPECT_TRUE(passed);
  EXPECT_LE(watch.elapsed(), 10s);
}

TEST(SqliteTurnQueue, GivesUpAtTheDeadline) {
  TurnQueue queue;
  auto turn = std::make_unique<TurnQueue::Turn>(queue.enter(in(1s)));
  ASSERT_TRUE(*turn);
  std::atomic<bool> gave_up = false;
  // One that does not give up is let in after a while: a test that fails must not hang.
  std::thread rescue([&] {
    if (!eventually([&] { return gave_up.load(); })) turn.reset();
  });
  EXPECT_FALSE(queue.enter(in(10ms)));
  EXPECT_FALSE(queue.enter(in(-1s)));
  gave_up = true;
  rescue.join();
  turn.reset();
  EXPECT_TRUE(queue.enter(in(-1s))) << "a free turn needs no time";
  EXPECT_TRUE(queue.enter(in(30s)));
  EXPECT_TRUE(queue.enter(in(365 * 24h))) << "any deadline will do";
}

// Whether a thread of this process sleeps: a thread with nothing else to wait for has then begun to
// wait.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name = line.rfind(") ");
  return name != std::string::npos && line[name + 2] == 'S';
}

// So nobody starves; and a caller that leaves and comes again does not get in before earlier
// waiters.
TEST(SqliteTurnQueue, ServesInTheOrderOfComing) {
  constexpr int waiters = 5;
  for (int round = 0; round < 20; ++round) {
    TurnQueue queue;
    std::mutex mutex;
    std::vector<int> served;
    const auto serve = [&](int who) {
      const TurnQueue::Turn turn = queue.enter(in(30s));
      EXPECT_TRUE(turn);
      const std::lock_guard lock(mutex);
      served.push_back(who);
    };
    auto first = std::make_unique<TurnQueue::Turn>(queue.enter(in(30s)));
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; ++i) {
      std::atomic<pid_t> thread{0};
      threads.emplace_back([&serve, &thread, i] {
        thread = gettid();
        serve(i);
      });
      EXPECT_TRUE(eventually([&] { return thread != 0 && sleeps(thread); }));
    }
    first.reset();
    serve(waiters);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(served, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  }
}

}  // namespace
}  // namespace lockset::sqlite
