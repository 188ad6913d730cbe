// The time of all nodes as one clock, for the core, which notices by it that a store's clock was
// stepped (semantics 20): this machine's time, and by how much a majority of the nodes' clocks
// differs from it now more than at first.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "lockset/clock.h"

namespace lockset::quorum {

class QuorumTime {
 public:
  explicit QuorumTime(std::size_t seats) : first_(seats) {}

  struct Reading {
    std::size_t seat;
    std::int64_t store_time_us;
    TimePoint at;  // when it was received
  };

  [[nodiscard]] std::int64_t shown(const std::vector<Reading>& readings) {
    std::vector<std::int64_t> steps;
    {
      const std::lock_guard lock(mutex_);
      for (const Reading& each : readings) {
        const std::int64_t ahead = each.store_time_us - us(each.at);
        std::optional<std::int64_t>& first = first_[each.seat];
        if (!first) first = ahead;
        steps.push_back(ahead - *first);
      }
    }
    const std::int64_t now = us(BootClock::now());
    if (steps.empty()) return now;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    return now + *middle;
  }

 private:
  static std::int64_t us(TimePoint at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
  }

  std::mutex mutex_;
  std::vector<std::optional<std::int64_t>> first_;  // by how much each was ahead at first
};

}  // namespace lockset::quorum
