#include "lockset/patterns/named_mutex.h"

#include <gtest/gtest.h>

#include <concepts>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include "tests/patterns/space.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::patterns_tests {
namespace {

// The named requirements of the language. SEM 23
template <class L>
concept BasicLockable = requires(L& l) {
  { l.lock() } -> std::same_as<void>;
  { l.unlock() } -> std::same_as<void>;
};
template <class L>
concept Lockable = BasicLockable<L> && requires(L& l) {
  { l.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept TimedLockable = Lockable<L> && requires(L& l) {
  { l.try_lock_for(1ms) } -> std::same_as<bool>;
  { l.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { l.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};
template <class L>
concept SharedLockable = requires(L& l) {
  { l.lock_shared() } -> std::same_as<void>;
  { l.try_lock_shared() } -> std::same_as<bool>;
  { l.unlock_shared() } -> std::same_as<void>;
};
template <class L>
concept SharedTimedLockable = SharedLockable<L> && requires(L& l) {
  { l.try_lock_shared_for(1ms) } -> std::same_as<bool>;
  { l.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
static_assert(TimedLockable<NamedMutex> && SharedTimedLockable<NamedMutex>);
static_assert(TimedLockable<std::shared_timed_mutex>);  // the concepts are as the language's are
static_assert(SharedTimedLockable<std::shared_timed_mutex>);
static_assert(!Lockable<Hold> && !SharedLockable<std::mutex>);

class NamedMutexTest : public SpaceTest {
 protected:
  Locks locks_ = open_locks();
  NamedMutex mutex_{locks_, {"a", "b"}};
};
LOCKSET_PATTERN_SUITE(NamedMutexTest);

// SEM 23
TEST_P(NamedMutexTest, ScopedLockTakesTheSetAsWrite) {
  {
    const std::scoped_lock lock(mutex_);
    EXPECT_TRUE(mutex_.valid());
    EXPECT_FALSE(is_free({read("a")}));
    EXPECT_FALSE(is_free({read("b")}));
    EXPECT_EQ(holds().at(0).stamp, mutex_.stamp());
    EXPECT_EQ(holds().at(0).items, (std::vector{write("a"), write("b")}));
  }
  EXPECT_FALSE(mutex_.valid());
  EXPECT_EQ(mutex_.stamp(), Stamp{});
  EXPECT_TRUE(is_free({write("a"), write("b")}));
}

// SEM 23
TEST_P(NamedMutexTest, SharedLocksAreReads) {
  locks_.set_permits("*", Mode::read, 2).value();
  const std::shared_lock lock(mutex_);
  EXPECT_EQ(holds().at(0).items, (std::vector{read("a"), read("b")}));
  EXPECT_TRUE(is_free({read("a"), read("b")}));
  EXPECT_FALSE(is_free({write("a")}));
  std::jthread([&] {  // the same object in another thread
    EXPECT_FALSE(mutex_.valid());
    const std::shared_lock second(mutex_);
    EXPECT_TRUE(mutex_.valid());
    EXPECT_EQ(holds().size(), 2U);
    EXPECT_FALSE(is_free({read("a")}));  // both permits
  })
      .join();
  EXPECT_TRUE(mutex_.valid());  // its end was not this thread's
  EXPECT_EQ(holds().size(), 1U);
}

TEST_P(NamedMutexTest, TriesAndTimesAnswerFalse) {
  Locks rival = open_locks();
  std::optional<Hold> in_the_way = rival.acquire({write("b")}).value();
  std::unique_lock lock(mutex_, std::defer_lock);
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(mutex_.try_lock_shared());
  const TimePoint began = BootClock::now();
  EXPECT_FALSE(lock.try_lock_for(20ms));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::now() + 20ms));
  EXPECT_FALSE(mutex_.try_lock_shared_for(20ms));
  EXPECT_FALSE(mutex_.try_lock_shared_until(std::chrono::system_clock::now() + 20ms));
  EXPECT_GE(BootClock::now() - began, 70ms);  // the calendar may be set
  EXPECT_FALSE(lock.try_lock_for(-1h));
  EXPECT_TRUE(is_free({write("a")}));
  in_the_way.reset();
  EXPECT_TRUE(lock.try_lock_for(std::chrono::hours::max()));  // all the time that there is
}

// std::lock tries, gives back and waits: two orders do not wait for each other
TEST_P(NamedMutexTest, SeveralAtOnceInAnyOrder) {
  NamedMutex one(locks_, {"x"});
  NamedMutex two(locks_, {"y"});
  int counter = 0;  // guarded by both
  test::run_threads(2, [&](std::size_t i) {
    for (int n = 0; n < 20; ++n) {
      if (i == 0) {
        const std::scoped_lock lock(one, two);
        ++counter;
      } else {
        const std::scoped_lock lock(two, one);
        ++counter;
      }
    }
  });
  EXPECT_EQ(counter, 40);
  EXPECT_TRUE(is_free({write("x"), write("y")}));
}

// SEM 23
TEST_P(NamedMutexTest, MistakesAreThrown) {
  EXPECT_EQ(thrown([&] { NamedMutex bad(locks_, {}); }), Errc::invalid);
  EXPECT_EQ(thrown([&] { NamedMutex bad(locks_, {"@app"}); }), Errc::invalid);
  EXPECT_EQ(thrown([&] { mutex_.unlock(); }), Errc::not_held);
  EXPECT_EQ(thrown([&] { mutex_.unlock_shared(); }), Errc::not_held);
  const std::unique_lock lock(mutex_);
  EXPECT_EQ(thrown([&] { mutex_.lock(); }), Errc::invalid);
  EXPECT_EQ(thrown([&] { mutex_.lock_shared(); }), Errc::invalid);
  EXPECT_EQ(thrown([&] { mutex_.unlock_shared(); }), Errc::not_held);
  std::jthread([&] { EXPECT_EQ(thrown([&] { mutex_.unlock(); }), Errc::not_held); }).join();
  EXPECT_TRUE(mutex_.valid());
}

// SEM 23: the guard can't say it; the mutex does
TEST_P(NamedMutexTest, ALostLockIsToldByTheMutex) {
  Locks locks = open_locks({.lease = 1s});  // it learns of the break at a third of that
  NamedMutex mutex(locks, {"a", "b"});
  {
    const std::scoped_lock lock(mutex);
    const std::stop_token lost = mutex.lost();
    break_hold(mutex.stamp());
    EXPECT_TRUE(test::eventually([&] { return lost.stop_requested(); }));
    EXPECT_FALSE(mutex.valid());
    EXPECT_TRUE(is_free({write("a"), write("b")}));
  }
  EXPECT_TRUE(is_free({write("a"), write("b")}));
}

}  // namespace
}  // namespace lockset::patterns_tests
