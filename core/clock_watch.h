// Compares how much time passed in the store with how much passed here, and so detects that the
// store's clock was stepped. Pure. Semantics 20.
#pragma once

#include <cstdint>
#include <optional>

#include "lockset/clock.h"

namespace lockset {

// The store read its clock at some time between the two moments.
struct ClockReading {
  TimePoint sent;
  TimePoint received;
  std::int64_t store_time_us = 0;
};

class ClockWatch {
 public:
  // How far the store's clock moved ahead (positive) or back (negative) of ours since the last
  // reading, if by more than `margin`.
  std::optional<Duration> observe(const ClockReading& reading, Duration margin) noexcept {
    const std::optional<ClockReading> before = last_;
    last_ = reading;
    if (!before) return {};
    const Duration in_store =
        std::chrono::microseconds(reading.store_time_us - before->store_time_us);
    const Duration at_most = reading.received - before->sent;
    const Duration at_least = reading.sent - before->received;
    if (in_store > at_most + margin) return in_store - at_most;
    if (in_store < at_least - margin) return in_store - at_least;
    return {};
  }

 private:
  std::optional<ClockReading> last_;
};

}  // namespace lockset
