// The controlling terminal, and which process group is in its foreground.
#pragma once

#include <sys/types.h>

#include "tools/file_descriptor.h"

namespace lockset::cli {

// REQUIRES: SIGTTOU is blocked (Signals).
class Terminal {
 public:
  Terminal();

  // True if there is a terminal.
  explicit operator bool() const noexcept { return fd_ >= 0; }
  // True if our own process group is in its foreground.
  [[nodiscard]] bool ours() const;
  // True if standard input and output are both terminals, so that no other part of a shell pipeline
  // (`lockset run ... | less`) needs it.
  [[nodiscard]] bool all_ours() const;
  // Puts `group` into the foreground.
  void give(pid_t group);
  // Takes the terminal back if the group that give() gave it to still has it.
  void take_back();
  [[nodiscard]] bool given() const noexcept { return given_to_ != 0; }

 private:
  tools::FileDescriptor opened_;
  int fd_ = -1;
  pid_t given_to_ = 0;
};

}  // namespace lockset::cli
