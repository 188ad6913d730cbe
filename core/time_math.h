// Sums of moments and durations, where the maximum means "for ever".
#pragma once

#include <algorithm>
#include <chrono>

#include "lockset/clock.h"

namespace lockset {

// `moment + duration`; if that is out of range, the last (or the first) moment.
constexpr TimePoint later(TimePoint moment, Duration duration) noexcept {
  if (duration > Duration::zero() && moment > TimePoint::max() - duration) return TimePoint::max();
  if (duration < Duration::zero() && moment < TimePoint::min() - duration) return TimePoint::min();
  return moment + duration;
}

// `until` on the clock of condition variables, at most a day from now: the end of time on one clock
// is no moment on another. A wait that ends early is repeated: see core/wait_until.h.
inline std::chrono::steady_clock::time_point on_steady_clock(TimePoint until) {
  const TimePoint now = BootClock::now();
  const Duration left = until <= now ? Duration::zero() : until - std::max(now, TimePoint());
  return std::chrono::steady_clock::now() + std::min<Duration>(left, std::chrono::hours(24));
}

}  // namespace lockset
