#include "benchmarks/report/numbers.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace lockset::bench {
namespace {

std::string with_decimals(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// Three significant figures, but at most `most` decimals.
std::string figures(double value, int most) {
  const double size = std::abs(value);
  int decimals = 2;
  if (size >= 9.995) decimals = 1;
  if (size >= 99.95) decimals = 0;
  return with_decimals(value, std::min(decimals, most));
}

// The number without its unit, or with it: a range shows the unit once.
std::string bare(double value, Unit unit) {
  switch (unit) {
    case Unit::percent:
      return figures(100 * value, 2);
    case Unit::count:
      return figures(value, 1);
    case Unit::share:
    case Unit::times:
    case Unit::microseconds:
    case Unit::milliseconds:
      break;
  }
  return figures(value, 2);
}

const char* suffix(Unit unit) {
  switch (unit) {
    case Unit::times:
      return "x";
    case Unit::percent:
      return "%";
    case Unit::microseconds:
      return " us";
    case Unit::milliseconds:
      return " ms";
    case Unit::share:
    case Unit::count:
      break;
  }
  return "";
}

}  // namespace

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string rate(double per_second) {
  if (!(per_second >= 0) || per_second >= 1e18) return "?";
  if (per_second < 99.95) return figures(per_second, 1);
  return grouped(static_cast<std::uint64_t>(std::llround(per_second)));
}

std::string duration(double microseconds) {
  if (microseconds < 999.5) return figures(microseconds, 2) + " us";
  if (microseconds < 999.5e3) return figures(microseconds / 1e3, 2) + " ms";
  return figures(microseconds / 1e6, 2) + " s";
}

std::string number(double value, Unit unit) {
  if (unit == Unit::milliseconds) return duration(value * 1e3);
  return bare(value, unit) + suffix(unit);
}

std::string bound(double value, Unit unit) {
  if (unit == Unit::milliseconds && value >= 1000) return bound(value / 1000, Unit::count) + " s";
  std::string text = with_decimals(unit == Unit::percent ? 100 * value : value, 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + suffix(unit);
}

std::string spread(const Spread& value, Unit unit) {
  std::string text = number(value.median, unit);
  // The range is in the unit of the median, which is shown with it.
  double scale = 1;
  if (unit == Unit::milliseconds) {
    scale = value.median < 0.9995 ? 1e3 : value.median < 999.5 ? 1 : 1e-3;
  }
  if (value.low && value.high) {
    text += " [" + bare(*value.low * scale, unit) + "-" + bare(*value.high * scale, unit) + "]";
  }
  return text;
}

}  // namespace lockset::bench
