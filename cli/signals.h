// Signals as data: they are blocked, and the main thread reads them from a descriptor.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "tools/file_descriptor.h"

namespace lockset::cli {

// Blocks the signals that we handle, for this thread and for all threads that it starts later. Make
// it before any other thread exists.
//
// A signal that was ignored when we were started (nohup; INT and QUIT of a shell's background jobs)
// stays ignored, by us and by the child. SIGPIPE is blocked, so that a store's broken connection is
// an error of that call and does not end us.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Readable when a signal is pending.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // The next signal, without waiting.
  std::optional<int> next();

  // The signal mask that we were started with; the child gets it.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return original_; }

  // Stops this process as SIGTSTP would, until it is continued. False if it did not stop: nobody
  // could continue us (an orphaned process group), or TSTP is ignored.
  bool stop_self();

 private:
  sigset_t original_{};
  tools::FileDescriptor fd_;
};

// Signals that ask a program to end: INT, TERM, HUP and QUIT.
bool asks_to_end(int signal) noexcept;
// Signals that are passed to the child: the above, USR1, USR2, WINCH and TSTP.
bool is_forwarded(int signal) noexcept;

// "SIGTERM".
std::string signal_name(int signal);

}  // namespace lockset::cli
