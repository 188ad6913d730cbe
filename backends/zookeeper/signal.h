// What a waiter sleeps on: bits that other threads raise.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "core/wait_until.h"
#include "lockset/clock.h"

namespace lockset::zookeeper {

// Thread-safe.
class Signal {
 public:
  void raise(unsigned bit) {
    const std::lock_guard lock(mutex_);
    bits_ |= bit;
    changed_.notify_all();
  }
  // Takes all raised bits; waits for one until `until` or `stop`.
  unsigned take(TimePoint until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wait_until(changed_, lock, stop, until, [&] { return bits_ != 0; });
    const unsigned bits = bits_;
    bits_ = 0;
    return bits;
  }
  [[nodiscard]] bool raised() {
    const std::lock_guard lock(mutex_);
    return bits_ != 0;
  }
  void lower(unsigned bits) {
    const std::lock_guard lock(mutex_);
    bits_ &= ~bits;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  unsigned bits_ = 0;
};

}  // namespace lockset::zookeeper
