// A tiny process that ends the command when lockset itself no longer can.
//
// flock lets a child inherit its descriptor; a lease has nothing like it. If lockset is killed or
// stopped, its command would run on while the store gives the lock to the next holder. So the guard
// is told how long the hold is valid. It ends the command's process group if that moment passes
// without news, or if lockset dies.
#pragma once

#include <sys/types.h>

#include <optional>

#include "lockset/clock.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

struct GuardPlan {
  int signal = 0;    // the first signal to send: SIGTERM or SIGKILL
  Duration grace{};  // from SIGTERM to SIGKILL
};

class Guard {
 public:
  // Forks. REQUIRES: no other thread exists, and Signals has been made.
  explicit Guard(const GuardPlan& plan);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // Watches this group from now on. REQUIRES: its leader is our child and was not waited for. False
  // if the guard no longer runs.
  bool watch(pid_t group);
  // The hold is valid until then. `slack` is included: the time in which we can act first.
  void valid_until(TimePoint when);
  // We end the group ourselves: the guard steps in only if we have not finished by then.
  void leave_to_us(TimePoint until);

  // `pid`, a child of ours, has ended. Returns false if it was not the guard.
  bool ended(pid_t pid);

  // The command has ended: ends the guard and waits for it. True if the guard had acted.
  bool dismiss();

 private:
  void tell(char what, TimePoint when);
  pid_t pid_ = -1;
  std::optional<int> status_;  // of a guard that ended before dismiss()
  tools::FileDescriptor channel_;
};

}  // namespace lockset::cli
