// Waiting for a condition, never for a time.
#pragma once

#include <atomic>
#include <functional>

#include "lockset/clock.h"

namespace lockset::test {

// Generous: reached only when something is broken.
inline constexpr Duration patience = std::chrono::seconds(10);

// A moment of BootClock.
inline TimePoint at(Duration since_boot) { return TimePoint(since_boot); }
inline TimePoint in(Duration time) { return BootClock::now() + time; }

// The deadline of a call to the store that should not take long.
TimePoint soon();

// Looks every millisecond until `condition` is true (then true) or `patience` is
// over (then false).
bool eventually(const std::function<bool()>& condition, Duration limit = patience);

// Whether several who contend get on: stuck once none of them has taken a step for `patience`.
// How many steps a store takes in a time is no matter of theirs. Thread-safe.
class Progress {
 public:
  void step() noexcept { last_ = BootClock::now(); }
  [[nodiscard]] bool stuck() const noexcept { return BootClock::now() > last_.load() + patience; }

 private:
  std::atomic<TimePoint> last_{BootClock::now()};
};

// Lets others run for this long: time to do wrong in, for those who could. Never a
// way to wait for something.
void linger(Duration time);

}  // namespace lockset::test
