#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace lockset::cli {
namespace {

void write_out(const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress() : shown_here_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  if (!shown_here_) return;
  winsize size{};
  std::size_t width = 80;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
  std::string line = "lockset: " + text;
  if (line.size() >= width) {
    std::size_t end = width - 1;
    // Not in the middle of a UTF-8 character.
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    line.resize(end);
  }
  write_out("\r" + line + "\033[K");
  shown_ = true;
}

void Progress::clear() {
  if (shown_) write_out("\r\033[K");
  shown_ = false;
}

}  // namespace lockset::cli
