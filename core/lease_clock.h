// The clock on which the holder's side counts leases: the machine's, unless the store counts on
// another one (Traits::clock), which happens only in tests.
#pragma once

#include "lockset/clock.h"

namespace lockset {

// A value; copies use the same clock. As thread-safe as that clock.
class LeaseClock {
 public:
  // Null: the machine's clock. Any other clock must outlive this object.
  explicit LeaseClock(const Clock* clock = nullptr) noexcept
      : clock_(clock == &real_clock() ? nullptr : clock) {}

  [[nodiscard]] TimePoint now() const noexcept {
    return clock_ != nullptr ? clock_->now() : BootClock::now();
  }
  // True if alarms and timers run on this clock.
  [[nodiscard]] bool is_machines() const noexcept { return clock_ == nullptr; }

  bool operator==(const LeaseClock&) const = default;

 private:
  const Clock* clock_;
};

}  // namespace lockset
