// Compares how much time passed in the store with how much passed here, and so
// finds a store's clock that was stepped. Pure. Semantics 20.
#pragma once

#include <cstdint>
#include <optional>

#include "lockset/clock.h"

namespace lockset {

class ClockWatch {
 public:
  // A reading of the store's clock, taken some time between `sent` and `received`.
  // How far the store's clock went ahead (positive) or back (negative) of ours since
  // the reading before, if by more than `margin`.
  std::optional<Duration> observe(TimePoint sent, TimePoint received, std::int64_t store_time_us,
                                  Duration margin) noexcept {
    const std::optional<Reading> before = last_;
    last_ = Reading{sent, received, store_time_us};
    if (!before) return {};
    const Duration in_store = std::chrono::microseconds(store_time_us - before->store_time_us);
    const Duration at_most = received - before->sent;
    const Duration at_least = sent - before->received;
    if (in_store > at_most + margin) return in_store - at_most;
    if (in_store < at_least - margin) return in_store - at_least;
    return {};
  }

 private:
  struct Reading {
    TimePoint sent;
    TimePoint received;
    std::int64_t store_time_us;
  };
  std::optional<Reading> last_;
};

}  // namespace lockset
