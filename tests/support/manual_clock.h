// A clock that a test moves by hand.
#pragma once

#include <atomic>

#include "lockset/clock.h"

namespace lockset::test {

// Thread-safe.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return TimePoint(Duration(now_.load())); }
  void advance(Duration by) noexcept { now_ += by.count(); }
  void set(TimePoint to) noexcept { now_ = to.time_since_epoch().count(); }

 private:
  std::atomic<Duration::rep> now_{Duration(std::chrono::hours(1)).count()};
};

}  // namespace lockset::test
