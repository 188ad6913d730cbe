// Waits for a condition, never for a fixed time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "lockset/clock.h"

namespace lockset::test {

// Generous: it is reached only if something is broken. On a machine with much else to do, a server
// may need ten seconds to answer.
inline constexpr Duration patience = std::chrono::seconds(30);

// A moment of BootClock.
inline TimePoint at(Duration since_boot) { return TimePoint(since_boot); }
inline TimePoint in(Duration time) { return BootClock::now() + time; }

// The deadline of a call to the store that should not take long.
TimePoint soon();

// Checks until `condition` is true (then true) or the limit is over (then false): every millisecond
// at first, less often the longer it takes, and every 25 ms at least. A check may be a call to a
// server, which others need too.
bool eventually(const std::function<bool()>& condition, Duration limit = patience);

// Whether contending threads make progress: they are stuck once none of them has taken a step for
// `patience`. It does not matter how many steps a store takes in a time. Thread-safe.
class Progress {
 public:
  void step() noexcept { last_ = BootClock::now(); }
  [[nodiscard]] bool stuck() const noexcept { return BootClock::now() > last_.load() + patience; }

 private:
  std::atomic<TimePoint> last_{BootClock::now()};
};

// The time since it was made, minus the time in which the machine ran nobody: a control thread
// sleeps for a few milliseconds again and again, and the time that it oversleeps does not count. So
// an upper bound on a call's time is a bound on the call, even on a busy machine. Use BootClock for
// lower bounds. elapsed() is thread-safe.
class Stopwatch {
 public:
  Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() = default;  // within some milliseconds

  [[nodiscard]] TimePoint began() const noexcept { return began_; }
  [[nodiscard]] Duration elapsed() const;

 private:
  void nap();
  // How long the control thread has overslept its present nap. REQUIRES: mutex_.
  [[nodiscard]] Duration overslept(TimePoint now) const;

  const TimePoint began_ = BootClock::now();
  mutable std::mutex mutex_;
  Duration stalled_{};
  TimePoint napping_until_ = began_;
  std::jthread control_;  // the last member: it uses the others
};

// Lets others run for this long, so that they could do something wrong. Never a way to wait for
// something.
void linger(Duration time);

// The pause of a client that asks again and again, after a failed try that began then: it sleeps as
// long as the try took. Otherwise the losers take the processor from the holder and the server.
void pause_after_try(TimePoint began);

}  // namespace lockset::test
