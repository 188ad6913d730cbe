#include "cli/progress.h"

#include <unistd.h>

#include "cli/chat.h"
#include "cli/terminal_width.h"

namespace lockset::cli {
Progress::Progress() : shown_here_(log_is_text() && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  if (!shown_here_) return;
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(80);
  std::string line = "lockset: " + text;
  if (line.size() >= width) {
    std::size_t end = width - 1;
    // Not in the middle of a UTF-8 character.
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    line.resize(end);
  }
  // If the terminal takes nothing just now, it gets the next line.
  if (write_fleeting("\r" + line + "\033[K")) shown_ = true;
}

void Progress::clear() {
  if (shown_) write_chat("\r\033[K");
  shown_ = false;
}

}  // namespace lockset::cli
