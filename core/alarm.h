// Lets one thread sleep until a moment of BootClock or until ring().
#pragma once

#include "lockset/clock.h"

namespace lockset {

// Condition variables use a clock that stops during suspend: after a resume they would wake too
// late to report a lost hold. A timer on CLOCK_BOOTTIME fires at once.
//
// Thread-safety: one thread waits; any thread rings.
class Alarm {
 public:
  Alarm();  // throws std::system_error if the process has no file descriptor left
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm();

  // Returns at `until`, or when ring() was called since the last return. May return early.
  void wait_until(TimePoint until) noexcept;
  void ring() noexcept;

 private:
  int timer_;
  int bell_;
};

}  // namespace lockset
