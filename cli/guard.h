// A tiny process that ends the command when lockset itself no longer can.
//
// A lease has no counterpart to flock's inherited descriptor: were lockset killed or
// stopped, its command would run on while the store gives the lock to the next. The
// guard is told how long the hold is valid. It ends the command's process group when
// that moment passes without news, or when lockset dies.
#pragma once

#include <sys/types.h>

#include <optional>

#include "lockset/clock.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

struct GuardPlan {
  int signal = 0;    // the first to be sent: SIGTERM or SIGKILL
  Duration grace{};  // from SIGTERM to SIGKILL
};

class Guard {
 public:
  // Forks. REQUIRES: no other thread exists, and Signals has been made.
  explicit Guard(const GuardPlan& plan);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // From now on watches this group. REQUIRES: its leader is our child and was not
  // waited for. False if the guard is not there any more.
  bool watch(pid_t group);
  // The hold is valid until then, `slack` included: the time that we get to act first.
  void valid_until(TimePoint when);
  // We end the group ourselves: step in only if we are not through by then.
  void leave_to_us(TimePoint until);

  // `pid`, a child of ours, has ended. False: it was not the guard.
  bool ended(pid_t pid);

  // The command has ended: sends the guard home and waits for it. True if it had
  // acted.
  bool dismiss();

 private:
  void tell(char what, TimePoint when);
  pid_t pid_ = -1;
  std::optional<int> status_;  // of a guard that ended before it was dismissed
  tools::FileDescriptor channel_;
};

}  // namespace lockset::cli
