// A tiny process that ends the command when lockset itself no longer can.
//
// flock lets a child inherit its descriptor; a lease has nothing like it. If lockset is killed or
// stopped, its command would run on while the store gives the lock to the next holder. So the guard
// is told how long the hold is valid. It ends the command's process group if that moment passes
// without news, or if lockset dies. In the latter case it then releases the hold, so that nobody
// has to wait for the end of the lease.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "lockset/stamp.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

struct GuardPlan {
  int signal = 0;    // the first signal to send: SIGTERM or SIGKILL
  Duration grace{};  // from SIGTERM to SIGKILL
  // For `lockset release`, as "NAME=VALUE": all that it needs. It may contain a password, which
  // others can't see there. Empty: the guard releases nothing.
  std::vector<std::string> environment;
};

class Guard {
 public:
  // Forks. REQUIRES: no other thread exists, and Signals has been made.
  explicit Guard(const GuardPlan& plan);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // The hold of this command.
  void holds(Stamp stamp);
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
  void tell(char what, std::int64_t value);
  pid_t pid_ = -1;
  std::optional<int> status_;  // of a guard that ended before dismiss()
  tools::FileDescriptor channel_;
};

}  // namespace lockset::cli
