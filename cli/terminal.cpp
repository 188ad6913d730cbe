#include "cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

namespace lockset::cli {

using namespace tools;

Terminal::Terminal() {
  if (::isatty(STDIN_FILENO) == 1) {
    fd_ = STDIN_FILENO;
    return;
  }
  // Even if standard input is redirected, a command may ask for a password on the terminal.
  opened_ = FileDescriptor(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  fd_ = opened_.get();
}

bool Terminal::ours() const { return fd_ >= 0 && ::tcgetpgrp(fd_) == ::getpgrp(); }

bool Terminal::all_ours() const {
  return ours() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

void Terminal::give(pid_t group) {
  if (fd_ >= 0 && ::tcsetpgrp(fd_, group) == 0) given_to_ = group;
}

void Terminal::take_back() {
  if (given_to_ == 0) return;
  // A shell may have taken it meanwhile: then it is no longer ours to take.
  if (::tcgetpgrp(fd_) == given_to_) ::tcsetpgrp(fd_, ::getpgrp());
  given_to_ = 0;
}

}  // namespace lockset::cli
