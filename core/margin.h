// The margin of a lease. Semantics 10.
#pragma once

#include <algorithm>

#include "lockset/clock.h"

namespace lockset {

// The part of a lease by which clocks may differ.
inline constexpr int margin_part = 10;

// Clocks may run at different rates, so Lockset does not rely on this much of a lease: a tenth, at
// least 50 ms and at most 2 s.
inline Duration margin_of(Duration lease) noexcept {
  return std::clamp<Duration>(lease / margin_part, std::chrono::milliseconds(50),
                              std::chrono::seconds(2));
}

}  // namespace lockset
