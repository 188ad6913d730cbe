#include "tests/support/wait.h"

#include <thread>

namespace lockset::test {

TimePoint soon() { return BootClock::now() + patience; }

bool eventually(const std::function<bool()>& condition, Duration limit) {
  const TimePoint until = BootClock::now() + limit;
  while (!condition()) {
    if (BootClock::now() >= until) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void linger(Duration time) {
  const TimePoint until = BootClock::now() + time;
  while (BootClock::now() < until) std::this_thread::yield();
}

}  // namespace lockset::test
