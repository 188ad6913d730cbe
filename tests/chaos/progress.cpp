#include "tests/chaos/progress.h"

#include <unistd.h>

#include <cstdio>

namespace lockset::chaos {

namespace {
constexpr Duration apart_at_terminal = std::chrono::milliseconds(250);
constexpr Duration apart_elsewhere = std::chrono::seconds(10);
}  // namespace

Progress::Progress(const std::filesystem::path& timeline)
    : terminal_(isatty(STDERR_FILENO) != 0), timeline_(timeline) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (open_) std::fputs("\r\033[K", stderr);
  open_ = false;
}

void Progress::note(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  char time[32];
  std::snprintf(time, sizeof time, "%10.3f s  ",
                std::chrono::duration<double>(BootClock::now() - began_).count());
  timeline_ << time << what << std::endl;
}

bool Progress::due() {
  const std::scoped_lock lock(mutex_);
  return BootClock::now() - shown_ >= (terminal_ ? apart_at_terminal : apart_elsewhere);
}

void Progress::show(const std::string& line) {
  if (!terminal_ && !due()) return;
  const std::scoped_lock lock(mutex_);
  shown_ = BootClock::now();
  clear();
  std::fputs((line + (terminal_ ? "" : "\n")).c_str(), stderr);
  open_ = terminal_;
}

void Progress::say(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  clear();
  std::fputs((line + "\n").c_str(), stderr);
}

std::string readable(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < 60) return std::to_string(seconds) + " s";
  char text[48];
  std::snprintf(text, sizeof text, "%lld min %02lld s", static_cast<long long>(seconds / 60),
                static_cast<long long>(seconds % 60));
  return text;
}

}  // namespace lockset::chaos
