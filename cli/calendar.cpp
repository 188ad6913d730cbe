#include "cli/calendar.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <utility>

namespace lockset::cli {
namespace {

std::string formatted(SystemTime when, const char* format, bool utc) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  if (utc) {
    ::gmtime_r(&seconds, &parts);
  } else {
    ::localtime_r(&seconds, &parts);
  }
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string local_time(SystemTime when) { return formatted(when, "%Y-%m-%d %H:%M:%S", false); }
std::string utc_time(SystemTime when) { return formatted(when, "%Y-%m-%dT%H:%M:%SZ", true); }

std::string human_duration(Duration duration) {
  constexpr std::pair<std::string_view, std::int64_t> units[] = {
      {"d", 86'400}, {"h", 3'600}, {"m", 60}, {"s", 1}};
  std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  if (seconds <= 0) return "0s";
  std::string text;
  int parts = 0;
  for (const auto& [name, size] : units) {
    if (parts > 0) ++parts;  // the unit next to the largest one, also if it is 0
    if (const std::int64_t count = seconds / size; count > 0 && parts <= 2) {
      text += std::to_string(count) + std::string(name);
      parts = std::max(parts, 1);
    }
    seconds %= size;
  }
  return text;
}

}  // namespace lockset::cli
