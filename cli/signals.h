// Signals as data: blocked, and read from a descriptor by the main thread.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "tools/file_descriptor.h"

namespace lockset::cli {

// Blocks the signals that we act upon, for this thread and all that it starts later.
// Make it before any other thread exists.
//
// A signal that was ignored when we were started (nohup; INT and QUIT of a shell's
// background jobs) stays ignored, by us and by the child. SIGPIPE is blocked, so that
// a store's broken connection is an error of that call and not our end.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Readable when a signal is there.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // The next signal, without waiting.
  std::optional<int> next();

  // The mask that we were started with: the child's.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return original_; }

  // Stops this process as SIGTSTP would, until somebody continues it. False if it did
  // not stop: nobody could continue us (an orphaned process group), or TSTP is ignored.
  bool stop_self();

 private:
  sigset_t original_{};
  tools::FileDescriptor fd_;
};

// Those that ask a program to end: INT, TERM, HUP and QUIT.
bool asks_to_end(int signal) noexcept;
// Those that the child gets: the above, USR1, USR2, WINCH and TSTP.
bool is_forwarded(int signal) noexcept;

// "SIGTERM".
std::string signal_name(int signal);

}  // namespace lockset::cli
