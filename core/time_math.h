// Sums of moments and durations that may mean "for ever".
#pragma once

#include "lockset/clock.h"

namespace lockset {

// `moment + duration`, or TimePoint::max() where that lies beyond it.
constexpr TimePoint later(TimePoint moment, Duration duration) noexcept {
  return duration > TimePoint::max() - moment ? TimePoint::max() : moment + duration;
}

}  // namespace lockset
