// Waits on condition variables until a moment of BootClock, which may be TimePoint::max(). Their
// own wait_until overflows there and returns at once: a thread that waits in a loop would spin,
// with the mutex locked nearly all the time.
#pragma once

#include <stop_token>
#include <utility>

#include "core/time_math.h"

namespace lockset {

// Waits until `done()`, and returns true, or until `until`, and returns what done() says then. It
// may not notice a suspend.
template <class Condition, class Lock, class Predicate>
bool wait_until(Condition& changed, Lock& lock, TimePoint until, Predicate done) {
  while (!done()) {
    if (BootClock::now() >= until) return done();
    changed.wait_until(lock, on_steady_clock(until));
  }
  return true;
}

// Also ends at `stop`. `changed` is a std::condition_variable_any.
template <class Condition, class Lock, class Predicate>
bool wait_until(Condition& changed, Lock& lock, const std::stop_token& stop, TimePoint until,
                Predicate done) {
  while (!done()) {
    if (stop.stop_requested() || BootClock::now() >= until) return done();
    changed.wait_until(lock, stop, on_steady_clock(until), done);
  }
  return true;
}

}  // namespace lockset
