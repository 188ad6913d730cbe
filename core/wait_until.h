// Waits on condition variables until a moment of BootClock, which may be TimePoint::max(). Their
// own wait_until overflows there, and then returns at once: who waits in a loop spins, with the
// mutex locked nearly all the time.
#pragma once

#include <stop_token>
#include <utility>

#include "core/time_math.h"

namespace lockset {

// Until `done()`, then true, or until `until`, then what done() says then. Need not notice a
// suspend.
template <class Condition, class Lock, class Predicate>
bool wait_until(Condition& changed, Lock& lock, TimePoint until, Predicate done) {
  while (!done()) {
    if (BootClock::now() >= until) return done();
    changed.wait_until(lock, on_steady_clock(until));
  }
  return true;
}

// Or until `stop`. `changed` is a std::condition_variable_any.
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
