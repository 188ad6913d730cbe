#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "backends/server/pool.h"
#include "tests/support/wait.h"

namespace lockset::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeServer {
  std::atomic<int> opened{0};
  std::atomic<int> open_now{0};
  std::atomic<int> most_open{0};
  std::atomic<bool> down{false};  // hangs up on everybody, and refuses new connections
  std::atomic<int> limit{1000};   // the most connections that it accepts
  std::promise<void> answer;      // with `slow`, opening a connection waits for it
  std::atomic<bool> slow{false};
};

class FakeConnection {
 public:
  explicit FakeConnection(FakeServer& server) : server_(server) {
    number_ = ++server_.opened;
    int now = ++server_.open_now;
    int most = server_.most_open;
    while (now > most && !server_.most_open.compare_exchange_weak(most, now)) {
    }
  }
  FakeConnection(const FakeConnection&) = delete;
  FakeConnection& operator=(const FakeConnection&) = delete;
  ~FakeConnection() { --server_.open_now; }
  [[nodiscard]] bool hung_up() const { return hung_up_ || server_.down; }
  [[nodiscard]] int number() const { return number_; }
  void hang_up() { hung_up_ = true; }

 private:
  FakeServer& server_;
  int number_ = 0;
  std::atomic<bool> hung_up_{false};
};

using FakePool = Pool<FakeConnection>;

FakePool::Open opener(FakeServer& server) {
  return [&server]() -> Result<std::unique_ptr<FakeConnection>> {
    if (server.slow) server.answer.get_future().wait();
    if (server.down) return Error{Errc::unavailable, "the server is down"};
    if (server.open_now >= server.limit) return Error{Errc::unavailable, "too many connections"};
    return std::make_unique<FakeConnection>(server);
  };
}

using test::in;

TEST(ConnectionPool, TheSameConnectionServesOneCallAfterTheOther) {
  FakeServer server;
  FakePool pool(4, opener(server));
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(pool.take(in(seconds(10))).value()->number(), 1);
  }
  EXPECT_EQ(server.opened, 1);
}

// A caller that waits without end must not use the processor meanwhile.
TEST(ConnectionPool, WaitingForEverIsSleeping) {
  FakeServer server;
  FakePool pool(1, opener(server));
  std::optional<FakePool::Lease> taken = pool.take(in(seconds(10))).value();
  std::atomic<bool> waits{false};
  std::clock_t burnt = 0;
  const TimePoint began = BootClock::now();
  std::thread caller([&] {
    waits = true;
    EXPECT_TRUE(pool.take(TimePoint::max()));
  });
  EXPECT_TRUE(test::eventually([&] { return waits.load(); }));
  burnt = std::clock();  // for the whole process
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + milliseconds(500));
  burnt = std::clock() - burnt;
  taken.reset();
  caller.join();
  EXPECT_GE(BootClock::now() - began, milliseconds(500));
  EXPECT_LT(burnt, CLOCKS_PER_SEC / 10);
}

TEST(ConnectionPool, OpensNoMoreThanItMayAndWaitsForTheNextThatIsGivenBack) {
  FakeServer server;
  FakePool pool(2, opener(server));
  std::vector<std::thread> callers;
  std::atomic<int> served{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int call = 0; call < 50; ++call) {
        const Result<FakePool::Lease> lease = pool.take(in(seconds(10)));
        if (lease) ++served;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(served, 400);
  EXPECT_LE(server.most_open, 2);
}

TEST(ConnectionPool, WhenAllAreInUseItGivesUpInTimeAndSaysSo) {
  FakeServer server;
  FakePool pool(1, opener(server));
  const Result<FakePool::Lease> held = pool.take(in(seconds(10)));
  ASSERT_TRUE(held.ok());
  const TimePoint began = BootClock::now();
  const Result<FakePool::Lease> lease = pool.take(in(milliseconds(30)));
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, Errc::unavailable);
  EXPECT_NE(lease.error().message.find("in use"), std::string::npos);
  EXPECT_GE(BootClock::now() - began, milliseconds(30));
}

// A process that was stopped between two calls has at most one connection, and no time left.
TEST(ConnectionPool, WithNoTimeLeftItSaysSoAndBlamesNoOtherCaller) {
  FakeServer server;
  FakePool pool(2, opener(server));
  const Result<FakePool::Lease> never_asked = pool.take(in(-seconds(1)));
  ASSERT_FALSE(never_asked.ok());
  EXPECT_EQ(never_asked.error().code, Errc::unavailable);
  EXPECT_NE(never_asked.error().message.find("time was up"), std::string::npos);
  EXPECT_EQ(server.opened, 0);
}

TEST(ConnectionPool, AFailureOfBeforeIsNotTheReasonOnceConnectingWorkedAgain) {
  FakeServer server;
  server.down = true;
  FakePool pool(2, opener(server));
  EXPECT_EQ(pool.take(in(seconds(60))).error().message, "the server is down");
  server.down = false;
  const Result<FakePool::Lease> held = pool.take(in(seconds(10)));
  ASSERT_TRUE(held.ok());
  const Result<FakePool::Lease> late = pool.take(in(-seconds(1)));
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("time was up"), std::string::npos);
}

TEST(ConnectionPool, AServerThatDoesNotAnswerIsNotWaitedForAnyLonger) {
  FakeServer server;
  server.slow = true;
  FakePool pool(2, opener(server));
  const Result<FakePool::Lease> lease = pool.take(in(milliseconds(30)));
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, Errc::unavailable);
  EXPECT_NE(lease.error().message.find("connecting"), std::string::npos);
  server.slow = false;
  server.answer.set_value();  // a late connection is kept for the next call
  EXPECT_EQ(pool.take(in(seconds(10))).value()->number(), 1);
}

TEST(ConnectionPool, TheReasonForNotConnectingReachesTheCallerAtOnce) {
  FakeServer server;
  server.down = true;
  FakePool pool(2, opener(server));
  const TimePoint began = BootClock::now();
  const Result<FakePool::Lease> lease = pool.take(in(seconds(60)));
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().message, "the server is down");
  EXPECT_LT(BootClock::now() - began, seconds(30));
  server.down = false;
  EXPECT_TRUE(pool.take(in(seconds(10))).ok());
}

TEST(ConnectionPool, ABrokenOneIsClosedWithTheIdleOnesThatHungUpToo) {
  FakeServer server;
  FakePool pool(3, opener(server));
  std::optional<FakePool::Lease> first = pool.take(in(seconds(10))).value();
  std::optional<FakePool::Lease> second = pool.take(in(seconds(10))).value();
  std::optional<FakePool::Lease> third = pool.take(in(seconds(10))).value();
  ASSERT_EQ(server.open_now, 3);
  (*first)->hang_up();
  first.reset();  // idle, and broken without anybody noticing
  second.reset();
  third->broken();
  EXPECT_EQ(server.open_now, 1);  // the second one works
}

TEST(ConnectionPool, AnIdleOneThatHungUpIsReplacedAndNotUsed) {
  FakeServer server;
  FakePool pool(2, opener(server));
  pool.take(in(seconds(10))).value()->hang_up();
  EXPECT_EQ(pool.take(in(seconds(10))).value()->number(), 2);
}

TEST(ConnectionPool, AServerThatTakesNoMoreConnectionsIsServedByThoseThereAre) {
  FakeServer server;
  server.limit = 1;
  FakePool pool(4, opener(server));
  std::optional<FakePool::Lease> held = pool.take(in(seconds(10))).value();
  auto next = std::async(std::launch::async, [&] { return pool.take(in(seconds(10))).ok(); });
  EXPECT_EQ(next.wait_for(milliseconds(30)), std::future_status::timeout);
  held.reset();
  EXPECT_TRUE(next.get());
  EXPECT_EQ(server.opened, 1);
}

}  // namespace
}  // namespace lockset::server
