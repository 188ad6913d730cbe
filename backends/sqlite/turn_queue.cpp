#include "backends/sqlite/turn_queue.h"

#include <algorithm>
#include <chrono>

namespace lockset::sqlite {

TurnQueue::Turn TurnQueue::enter(TimePoint by) {
  std::unique_lock lock(mutex_);
  if (!taken_) {
    taken_ = true;
    return Turn(*this);
  }
  Waiter self;
  line_.push_back(&self);
  while (!self.has_turn) {
    const TimePoint now = BootClock::now();
    if (now >= by) {
      line_.erase(std::find(line_.begin(), line_.end(), &self));
      return {};
    }
    // In slices: an infinite deadline overflows inside the standard library.
    self.served.wait_for(lock, std::min<Duration>(by - now, std::chrono::minutes(1)));
  }
  return Turn(*this);
}

void TurnQueue::leave() {
  const std::lock_guard lock(mutex_);
  if (line_.empty()) {
    taken_ = false;
    return;
  }
  Waiter* next = line_.front();
  line_.pop_front();
  next->has_turn = true;
  next->served.notify_one();  // under the mutex: after it the waiter may be gone
}

}  // namespace lockset::sqlite
