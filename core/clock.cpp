#include "lockset/clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

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

// "sec" for "s": how people write units that have another name here; nullptr if it is none.
const Unit* usual_unit(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> words{{{"sec", "s"},
                                                                                 {"secs", "s"},
                                                                                 {"second", "s"},
                                                                                 {"seconds", "s"},
                                                                                 {"min", "m"},
                                                                                 {"mins", "m"},
                                                                                 {"minute", "m"},
                                                                                 {"minutes", "m"},
                                                                                 {"hr", "h"},
                                                                                 {"hour", "h"},
                                                                                 {"hours", "h"},
                                                                                 {"day", "d"},
                                                                                 {"days", "d"},
                                                                                 {"msec", "ms"}}};
  for (const auto& [usual, name] : words) {
    if (usual != word) continue;
    for (const Unit& unit : units) {
      if (unit.name == name) return &unit;
    }
  }
  return nullptr;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  Error bad{Errc::invalid,
            in_quotes(text) + " is no duration: write it like 250ms, 30s, 5m, 1h30m or 1d"};
  constexpr double hundred_years_in_ms = 100 * 365.25 * 86'400'000;
  double total = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  const Unit* last = nullptr;  // each unit is shorter than the one before
  do {
    double number = 0;
    // from_chars would take "inf" and "nan": a number begins with a digit.
    if (at == end || *at < '0' || *at > '9') return bad;
    const auto [stop, failed] = std::from_chars(at, end, number, std::chars_format::fixed);
    if (failed != std::errc{}) return bad;
    const char* const next =
        std::find_if(stop, end, [](char each) { return each >= '0' && each <= '9'; });
    const std::string_view name(stop, static_cast<std::size_t>(next - stop));
    if (name.empty()) {
      if (last != nullptr || number * 1'000 > hundred_years_in_ms) return bad;
      return Duration(std::chrono::nanoseconds(std::llround(number * 1e9)));
    }
    const auto* const unit = std::find_if(units.begin(), units.end(),
                                          [&](const Unit& each) { return each.name == name; });
    if (unit == units.end()) {
      if (const Unit* meant = usual_unit(name); meant != nullptr && next == end) {
        bad.message += "; did you mean " + std::string(text.substr(0, text.size() - name.size())) +
                       std::string(meant->name) + "?";
      }
      return bad;
    }
    if (last != nullptr && unit->millis >= last->millis) return bad;
    last = &*unit;
    total += number * static_cast<double>(unit->millis);
    if (total > hundred_years_in_ms) return bad;
    at = next;
  } while (at != end);
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
