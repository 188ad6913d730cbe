#include "core/time_math.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/wait_until.h"
#include "lockset/locks.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

using test::at;

TEST(Later, IsASum) {
  EXPECT_EQ(later(at(3s), 2s), at(5s));
  EXPECT_EQ(later(at(3s), -2s), at(1s));
  EXPECT_EQ(later(at(-3s), 2s), at(-1s));
}

TEST(Later, StaysWithinWhatThereIs) {
  EXPECT_EQ(later(at(1ns), forever), TimePoint::max());
  EXPECT_EQ(later(TimePoint::max(), 1ns), TimePoint::max());
  EXPECT_EQ(later(TimePoint::max() - 5ns, 5ns), TimePoint::max());
  EXPECT_EQ(later(TimePoint::max() - 5ns, 4ns), TimePoint::max() - 1ns);
  EXPECT_EQ(later(TimePoint::min(), -1ns), TimePoint::min());
  EXPECT_EQ(later(TimePoint::min(), forever), at(-1ns));
  EXPECT_EQ(later(TimePoint::max(), -1ns), TimePoint::max() - 1ns);
}

// The clock of condition variables has the same end, but is read a moment later.
TEST(WaitUntil, TheEndOfTimeIsNotNow) {
  EXPECT_GT(on_steady_clock(TimePoint::max()), std::chrono::steady_clock::now() + 1h);
  EXPECT_GT(on_steady_clock(TimePoint::max() - 1ns), std::chrono::steady_clock::now() + 1h);
  const auto past = on_steady_clock(TimePoint::min());
  EXPECT_LE(past, std::chrono::steady_clock::now());
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_lock lock(mutex);
  std::thread other([&] {
    const std::lock_guard guard(mutex);  // free while the thread waits
    done = true;
    changed.notify_all();
  });
  EXPECT_TRUE(wait_until(changed, lock, TimePoint::max(), [&] { return done; }));
  lock.unlock();
  other.join();
}

TEST(WaitUntil, EndsAtItsTimeOrWithAStop) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  const TimePoint until = BootClock::now() + 20ms;
  EXPECT_FALSE(wait_until(changed, lock, until, [] { return false; }));
  EXPECT_GE(BootClock::now(), until);
  EXPECT_TRUE(wait_until(changed, lock, until, [] { return true; })) << "over, and done";

  std::condition_variable_any any;
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(wait_until(any, lock, stop.get_token(), TimePoint::max(), [] { return false; }));
  stopper.join();
}

TEST(FormatDuration, TheLongestAndTheShortest) {
  EXPECT_EQ(format_duration(Duration::max()), "9223372036853ms");
  EXPECT_EQ(format_duration(Duration::min()), "-9223372036853ms");
}

}  // namespace
}  // namespace lockset
