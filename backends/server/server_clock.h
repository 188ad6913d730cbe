// The finding of all stores' doctors about a server's clock.
#pragma once

#include <chrono>
#include <cstdint>

#include "lockset/clock.h"
#include "lockset/registry.h"

namespace lockset::server {

// Clocks that NTP controls differ by less.
inline constexpr std::chrono::microseconds usual_difference = std::chrono::seconds(2);

// This host's calendar, in microseconds since 1970.
inline std::int64_t calendar_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The server answered `server_us` at some moment from `asked_us` to `answered_us` of calendar_us().
// A warning if the two certainly differ by more than usual.
Finding examine_clock(std::int64_t server_us, std::int64_t asked_us, std::int64_t answered_us);

}  // namespace lockset::server
