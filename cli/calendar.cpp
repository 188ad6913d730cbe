#include "cli/calendar.h"

#include <ctime>

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

}  // namespace lockset::cli
