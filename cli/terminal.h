// The controlling terminal, and which process group has it in the foreground.
#pragma once

#include <sys/types.h>

#include "tools/file_descriptor.h"

namespace lockset::cli {

// REQUIRES: SIGTTOU is blocked (Signals).
class Terminal {
 public:
  Terminal();

  // There is one.
  explicit operator bool() const noexcept { return fd_ >= 0; }
  // Our own process group is in its foreground.
  [[nodiscard]] bool ours() const;
  // Standard input and output are both terminals, so nobody else of a shell pipeline
  // (`lockset run ... | less`) wants it.
  [[nodiscard]] bool all_ours() const;
  // Puts `group` into the foreground.
  void give(pid_t group);
  // Takes it back if it is with the group that give() gave it to.
  void take_back();
  [[nodiscard]] bool given() const noexcept { return given_to_ != 0; }

 private:
  tools::FileDescriptor opened_;
  int fd_ = -1;
  pid_t given_to_ = 0;
};

}  // namespace lockset::cli
