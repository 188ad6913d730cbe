#include "cli/terminal_width.h"

#include <sys/ioctl.h>

namespace lockset::cli {

std::optional<std::size_t> terminal_width(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace lockset::cli
