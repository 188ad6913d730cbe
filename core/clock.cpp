#include "lockset/clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lockset/lock_set.h"

namespace lockset {

const Clock& real_clock() noexcept {
  struct RealClock final : Clock {
    [[nodiscard]] TimePoint now() const noexcept override { return BootClock::now(); }
  };
  static const RealClock clock;
  return clock;
}

namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
// From the longest to the shortest.
constexpr std::array<Unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const Error bad{Errc::invalid,
                  in_quotes(text) + " is no duration: write it like 250ms, 30s, 5m, 2h or 1d"};
  double number = 0;
  // from_chars would take "inf" and "nan": a duration begins with a digit.
  if (text.empty() || text.front() < '0' || text.front() > '9') return bad;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failed != std::errc{}) return bad;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  std::int64_t millis = suffix.empty() ? 1'000 : 0;
  for (const Unit& unit : units) {
    if (unit.name == suffix) millis = unit.millis;
  }
  constexpr double hundred_years_in_ms = 100 * 365.25 * 86'400'000;
  const double total = number * static_cast<double>(millis);
  if (millis == 0 || total > hundred_years_in_ms) return bad;
  return Duration(std::chrono::nanoseconds(std::llround(total * 1e6)));
}

std::string format_duration(Duration duration) {
  using std::chrono::milliseconds;
  // Rounding compares with the next whole millisecond, which must exist.
  const Duration least = std::chrono::ceil<milliseconds>(Duration::min() + milliseconds(1));
  const Duration most = std::chrono::floor<milliseconds>(Duration::max() - milliseconds(1));
  const std::int64_t millis =
      std::chrono::round<milliseconds>(std::clamp(duration, least, most)).count();
  if (millis == 0) return "0s";
  for (const Unit& unit : units) {
    if (millis % unit.millis == 0)
      return std::to_string(millis / unit.millis) + std::string(unit.name);
  }
  return {};  // not reached: everything divides by 1 ms
}

}  // namespace lockset
