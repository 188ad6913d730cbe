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
  // What the child gets when we die; 0: nothing.
  int death_signal = 0;
};

// Forked and waiting in a process group of its own: nothing of the command runs before
// start(), so that a guard and the terminal can be made ready first. The destructor
// ends a child that was never started, and one that was started and not waited for.
class ChildProcess {
 public:
  // REQUIRES: the main thread, for the death signal comes when the forking thread ends.
  explicit ChildProcess(const ChildPlan& plan);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Also the number of its process group.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // Executes the command: 0, or the errno of execve.
  int start();

  // A change of state, without waiting: the status as waitpid gives it.
  std::optional<int> poll();
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  // To the whole process group. False if nobody there could be signalled.
  bool signal(int number) const noexcept;
  // Somebody of the process group is left.
  [[nodiscard]] bool group_alive() const noexcept;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  tools::FileDescriptor channel_;
};

}  // namespace lockset::cli
