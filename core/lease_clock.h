// The clock that leases count on at the holder's side: the machine's, unless the store counts on
// another one (Traits::clock), which only tests have.
#pragma once

#include "lockset/clock.h"

namespace lockset {

// A value; copies are the same clock. Thread-safe as the clock is.
class LeaseClock {
 public:
  // Null: the machine's. Else it must outlive this.
  explicit LeaseClock(const Clock* clock = nullptr) noexcept
      : clock_(clock == &real_clock() ? nullptr : clock) {}

  [[nodiscard]] TimePoint now() const noexcept {
    return clock_ != nullptr ? clock_->now() : BootClock::now();
  }
  // Alarms and timers go by it.
  [[nodiscard]] bool is_machines() const noexcept { return clock_ == nullptr; }

  bool operator==(const LeaseClock&) const = default;

 private:
  const Clock* clock_;
};

}  // namespace lockset
