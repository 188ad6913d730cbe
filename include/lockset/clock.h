// Time as Lockset measures it. Validity never depends on the wall clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/error.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

using Duration = std::chrono::nanoseconds;

// Unlike std::chrono::steady_clock, this clock counts on while the machine is suspended
// (CLOCK_BOOTTIME on Linux). A lease runs out in the store during a suspend, so the holder's clock
// must notice. Thread-safe.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

using TimePoint = BootClock::time_point;

// Where a backend without a server of its own reads the time; tests inject their own clock.
// Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;
  // The calendar's time, for stamps and for people; somebody may set it forward or back.
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const noexcept {
    return std::chrono::system_clock::now();
  }
};

// The machine's clock. Never destroyed.
const Clock& real_clock() noexcept;

// Reads "250ms", "30s", "5m", "2h", "1d", "1.5s", "1h30m", or a bare number of seconds.
// Errc::invalid for anything else, negative and overflowing values included.
Result<Duration> parse_duration(std::string_view text);

// The shortest exact text among ms, s, m, h and d: "30s", "1500ms". Rounds to whole milliseconds.
std::string format_duration(Duration duration);

}  // namespace LOCKSET_EXPORT
