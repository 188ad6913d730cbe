#include "tests/support/wait.h"

#include <algorithm>
#include <thread>

namespace lockset::test {

namespace {

using namespace std::chrono_literals;

// On an idle machine a sleep ends less late than this.
constexpr Duration usual = 5ms;

}  // namespace

TimePoint soon() { return BootClock::now() + patience; }

bool eventually(const std::function<bool()>& condition, Duration limit) {
  const TimePoint began = BootClock::now();
  for (TimePoint asked = began; !condition(); asked = BootClock::now()) {
    const TimePoint now = BootClock::now();
    if (now - began >= limit) return condition();
    const Duration rare = std::max<Duration>((now - began) / 16, now - asked);
    std::this_thread::sleep_for(std::clamp<Duration>(rare, 1ms, 25ms));
  }
  return true;
}

Stopwatch::Stopwatch()
    : control_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) nap();
      }) {}

void Stopwatch::nap() {
  constexpr Duration length = 5ms;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootClock::now();
    stalled_ += overslept(now);
    napping_until_ = now + length;
  }
  std::this_thread::sleep_for(length);
}

Duration Stopwatch::elapsed() const {
  const std::lock_guard lock(mutex_);
  const TimePoint now = BootClock::now();
  // The control thread may not have noted its last stall yet.
  return now - began_ - stalled_ - overslept(now);
}

Duration Stopwatch::overslept(TimePoint now) const {
  const Duration late = now - napping_until_;
  return late > usual ? late : Duration::zero();
}

void pause_after_try(TimePoint began) {
  const Duration took = BootClock::now() - began;
  // A try in memory is over before a sleep would begin.
  if (took < 50us) return std::this_thread::yield();
  std::this_thread::sleep_for(std::min<Duration>(took, 5ms));
}

void linger(Duration time) {
  const TimePoint until = BootClock::now() + time;
  if (time > 2ms) std::this_thread::sleep_for(time);
  // This ends a short wait more exactly, and a sleep may end early by BootClock.
  while (BootClock::now() < until) std::this_thread::yield();
}

}  // namespace lockset::test
