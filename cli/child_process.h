// The command that runs under the lock.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/file_descriptor.h"

namespace lockset::cli {

struct ChildPlan {
  std::vector<std::string> command;                              // never empty
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  sigset_t mask{};
  // The signal that the child gets when we die; 0: none.
  int death_signal = 0;
};

// A forked child that waits in its own process group: no part of the command runs before start(),
// so that a guard and the terminal can be made ready first. The destructor ends a child that was
// never started, and one that was started and not waited for.
class ChildProcess {
 public:
  // REQUIRES: the main thread, because the death signal is sent when the forking thread ends.
  explicit ChildProcess(const ChildPlan& plan);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Also the number of its process group.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // Executes the command: 0, or the errno of execve.
  int start();

  // A change of state, without waiting: the status that waitpid gives.
  std::optional<int> poll();
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  // Signals the whole process group. False if no process there could be signalled.
  bool signal(int number) const noexcept;
  // True while the process group has a member.
  [[nodiscard]] bool group_alive() const noexcept;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  tools::FileDescriptor channel_;
};

}  // namespace lockset::cli
