#include "core/alarm.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace lockset {

Alarm::Alarm()
    : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (timer_ < 0 || bell_ < 0) {
    const int cause = errno;
    if (timer_ >= 0) close(timer_);
    if (bell_ >= 0) close(bell_);
    throw std::system_error(cause, std::generic_category(), "lockset: timer");
  }
}

Alarm::~Alarm() {
  close(timer_);
  close(bell_);
}

void Alarm::wait_until(TimePoint until) noexcept {
  itimerspec spec{};  // all zero: never
  if (until != TimePoint::max()) {
    const Duration at = std::max(until.time_since_epoch(), Duration(1));
    spec.it_value.tv_sec = at / std::chrono::seconds(1);
    spec.it_value.tv_nsec = (at % std::chrono::seconds(1)).count();
  }
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
  pollfd fds[2] = {{timer_, POLLIN, 0}, {bell_, POLLIN, 0}};
  poll(fds, 2, -1);
  std::uint64_t rings = 0;
  static_cast<void>(!::read(bell_, &rings, sizeof rings));  // EAGAIN: no ring() yet
}

void Alarm::ring() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(bell_, &one, sizeof one));  // full: it is ringing already
}

}  // namespace lockset
