#include "backends/postgresql/line.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "core/time_math.h"

namespace lockset::postgresql {

bool Ear::try_turn() {
  std::unique_lock lock(mutex_);
  // Hearing is over in a moment: that is no reason to open another connection.
  ended_.wait(lock, [&] { return !hearing_; });
  if (taken_ || closed_ || broken_ || connection_.hung_up()) return false;
  taken_ = true;
  return true;
}

bool Ear::take_turn(TimePoint by) {
  std::unique_lock lock(mutex_);
  return take(lock, by);
}

bool Ear::take(std::unique_lock<std::mutex>& lock, TimePoint by) {
  while (taken_ && !closed_) {
    if (BootClock::now() >= by) return false;
    ended_.wait_until(lock, on_steady_clock(by));
  }
  if (closed_ || broken_) return false;
  taken_ = true;
  return true;
}

bool Ear::hear() {
  {
    std::unique_lock lock(mutex_);
    if (!take(lock, TimePoint::max())) return false;
    hearing_ = true;
  }
  end_turn();
  return true;
}

void Ear::end_turn() {
  try {
    if (connection_.native().is_open()) {
      connection_.native().get_notifs();
    } else {
      broken();
    }
  } catch (const std::exception&) {
    broken();
  }
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    hearing_ = false;
  }
  ended_.notify_all();
}

void Ear::broken() noexcept {
  const std::lock_guard lock(mutex_);
  if (broken_) return;
  broken_ = true;
  // This wakes the thread that sleeps on the socket.
  connection_.socket()->arm(BootClock::now());
}

bool Ear::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  ended_.notify_all();
  ended_.wait(lock, [&] { return !taken_; });
  return !broken_;
}

}  // namespace lockset::postgresql
