// A memory store and its clients on a clock that a test moves: docs/testing-your-program.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/manual_clock.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Reached only if something is broken.
constexpr Duration longest_wait = 30s;

class Events final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    ++counts_[event.kind];
    changed_.notify_all();
  }
  bool wait_for(Event::Kind kind, int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest_wait, [&] { return counts_[kind] >= count; });
  }
  int count(Event::Kind kind) {
    const std::lock_guard lock(mutex_);
    return counts_[kind];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Event::Kind, int> counts_;
};

class OwnClock : public ::testing::Test {
 protected:
  Locks open_locks(std::string app, Options options = {}) {
    options.app = std::move(app);
    options.observer = events_;
    return open(make_memory_backend(store_), std::move(options)).value();
  }

  test::ManualClock clock_;
  std::shared_ptr<MemoryStore> store_ = make_memory_store(clock_);
  std::shared_ptr<Events> events_ = std::make_shared<Events>();
};

// SEM 20: if another client takes over after the end of a lease, the holder knows that it lost it
TEST_F(OwnClock, TwoHoldersAreNeverValidAtATime) {
  Locks one = open_locks("one");
  Locks two = open_locks("two");
  const Hold first = one.acquire({write("a")}).value();
  EXPECT_TRUE(first.valid());
  EXPECT_FALSE(two.try_acquire({write("a")}).value());
  clock_.advance(31s);
  EXPECT_FALSE(first.valid());
  const Hold second = two.acquire({write("a")}, {.wait = 0s}).value();
  EXPECT_TRUE(second.valid());
  EXPECT_FALSE(first.valid());
}

// SEM 10: the margin before the end of the lease, to the nanosecond
TEST_F(OwnClock, ValidityIsCountedByIt) {
  Locks locks = open_locks("app", {.lease = 10s});
  const TimePoint began = clock_.now();
  const Hold hold = locks.acquire({write("a")}).value();
  EXPECT_EQ(hold.valid_until(), began + 9s);
  EXPECT_TRUE(hold.valid_for(9s - 1ns));
  EXPECT_FALSE(hold.valid_for(9s));
}

// SEM 10: reported without anybody calling valid()
TEST_F(OwnClock, LostFiresWhenItHasPassedTheEnd) {
  Locks locks = open_locks("app");
  const Hold hold = locks.acquire({write("a")}).value();
  std::mutex mutex;
  std::condition_variable changed;
  bool lost = false;
  const std::stop_callback callback(hold.lost(), [&] {
    const std::lock_guard lock(mutex);
    lost = true;
    changed.notify_all();
  });
  clock_.advance(31s);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, longest_wait, [&] { return lost; }));
  EXPECT_FALSE(hold.valid());
}

// SEM 10: renewed at each third of the lease that passes on this clock
TEST_F(OwnClock, HoldsAreRenewedAsItGoes) {
  Locks locks = open_locks("app");
  const Hold hold = locks.acquire({write("a")}).value();
  for (int third = 1; third <= 9; ++third) {
    clock_.advance(10s);
    ASSERT_TRUE(events_->wait_for(Event::Kind::renewed, third));
  }
  EXPECT_TRUE(hold.valid()) << "three leases later";
  EXPECT_EQ(events_->count(Event::Kind::clock_stepped), 0);
  EXPECT_TRUE(
      make_memory_backend(store_)->inspect({}, TimePoint::max()).value().holds[0].remaining > 29s);
}

// SEM 13: nobody tells a waiter that the clock was moved
TEST_F(OwnClock, AWaiterLooksAgainByItself) {
  Locks one = open_locks("one");
  Locks two = open_locks("two");
  Hold first = one.acquire({write("a")}).value();
  std::thread waiter([&] {
    const Hold second = two.acquire({write("a")}, {.wait = longest_wait}).value();
    EXPECT_TRUE(second.valid());
    EXPECT_FALSE(first.valid());
  });
  EXPECT_TRUE(events_->wait_for(Event::Kind::busy, 1));
  clock_.advance(31s);
  waiter.join();
  EXPECT_EQ(first.release().error().code, Errc::not_held);
}

// Giving a clock other than the store's is a mistake that would rarely show.
TEST_F(OwnClock, AnotherClockThanTheStoresIsRefused) {
  const test::ManualClock other;
  const auto refused = open(make_memory_backend(store_), {.clock = &other});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_THAT(refused.error().message, HasSubstr("Options::clock"));
  EXPECT_FALSE(open(make_memory_backend(store_), {.clock = &real_clock()}));
  EXPECT_FALSE(open("memory:", {.clock = &other}));
  EXPECT_TRUE(open(make_memory_backend(store_), {.clock = &clock_}));
  EXPECT_TRUE(open("memory:", {.clock = &real_clock()}));
}

}  // namespace
}  // namespace lockset
