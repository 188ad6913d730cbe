// SEM 13, 14: many processes on one file. The test imitates their behaviour at the gate, so that it
// does not need a thousand of them.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <variant>

#include "backends/sqlite/file_gate.h"
#include "backends/sqlite/side_file.h"
#include "lockset/registry.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;
using sqlite::FileGate;
using sqlite::SideFile;

// A process inside a write transaction that used no gate.
class Writer {
 public:
  explicit Writer(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { sqlite3_close(db_); }

 private:
  sqlite3* db_ = nullptr;
};

// A line that never ends: another process always goes next, and they pass.
class Crowd {
 public:
  explicit Crowd(const std::string& path)
      : next_(SideFile::open(path).value()), inside_(SideFile::open(path).value()) {
    EXPECT_TRUE(next_->try_lock(0));
    ++next_->word(sleepers_of_turn);  // nobody passes at once
    thread_ = std::thread([this] {
      FileGate gate(*inside_);
      while (!end_) {
        const FileGate::Pass pass = gate.enter(BootClock::now() + 1s, FileGate::Line::ahead);
        std::this_thread::sleep_for(1ms);  // the duration of a transaction
      }
    });
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    end_ = true;
    thread_.join();
    --next_->word(sleepers_of_turn);
  }

 private:
  static constexpr std::size_t sleepers_of_turn = 16;  // as in the gate

  const std::unique_ptr<SideFile> next_;
  const std::unique_ptr<SideFile> inside_;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

class SqliteCrowd : public testing::Test {
 protected:
  std::shared_ptr<Backend> open(TimePoint by = soon()) {
    return std::shared_ptr<Backend>(open_backend(url_, by).value());
  }
  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
  const std::string path_ = folder_.file("locks.db");
};

// Long enough to see that the crowd moves.
constexpr Duration some_time = 1500ms;

// A call that may wait is busy, not failed, because others are being served
TEST_F(SqliteCrowd, WhoMayWaitWaits) {
  Client mine(open());
  Busy busy;
  {
    const Writer writer(path_);
    const Crowd crowd(path_);
    const auto outcome =
        mine.ask({write("a")}, {.will_wait = true, .by = BootClock::now() + some_time});
    ASSERT_TRUE(outcome && std::holds_alternative<Busy>(*outcome)) << describe(outcome);
    busy = std::get<Busy>(*outcome);
    EXPECT_FALSE(busy.holder);
    EXPECT_NE(busy.holder_label.find("many others"), std::string::npos) << busy.holder_label;
    ASSERT_TRUE(busy.ticket);
    // There is no wake-up: the core decides when to look next.
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(mine.backend().await_change(*busy.ticket, began + some_time, {}));
    EXPECT_GE(BootClock::now(), began + some_time);
  }
  EXPECT_TRUE(mine.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
}

// A call that may not wait reports the contention
TEST_F(SqliteCrowd, WhoMayNotWaitIsToldOfTheCrowd) {
  Client mine(open());
  const Writer writer(path_);
  const Crowd crowd(path_);
  const auto outcome = mine.ask({write("a")}, {.by = BootClock::now() + some_time});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  EXPECT_NE(outcome.error().message.find("heavy contention"), std::string::npos)
      << outcome.error().message;
}

// A process that is stopped, or a person in a shell, is no crowd
TEST_F(SqliteCrowd, AStoppedUserIsNoCrowd) {
  Client mine(open());
  const Writer writer(path_);
  const auto outcome =
      mine.ask({write("a")}, {.will_wait = true, .by = BootClock::now() + some_time});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  EXPECT_NE(outcome.error().message.find("stopped"), std::string::npos) << outcome.error().message;
}

// Releases and renewals, which others wait for, do not queue behind them
TEST_F(SqliteCrowd, AReleaseAndARenewalGoAhead) {
  Client mine(open());
  const Stamp stamp = mine.take({write("a")}).stamp;
  const Crowd crowd(path_);
  const TimePoint began = BootClock::now();
  const RenewRequest request{stamp, 2min};
  const auto renewed = mine.backend().renew(mine.owner(), {&request, 1}, began + 60s);
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_TRUE(renewed->renewals.at(0));
  EXPECT_TRUE(mine.backend().release(stamp, "app", began + 60s).value());
  EXPECT_LT(BootClock::now(), began + 30s);
}

// Opening an existing space waits for no writer
TEST_F(SqliteCrowd, OpeningStandsInNoLine) {
  static_cast<void>(open());
  const Writer writer(path_);
  const Crowd crowd(path_);
  const auto opened = open_backend(url_, BootClock::now() + 10s);
  EXPECT_TRUE(opened) << opened.error().message;
}

}  // namespace
}  // namespace lockset::test
