// A child process that a run may kill and stop. Its output goes to a file.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"

namespace lockset::chaos {

// Not thread-safe. It is killed when the thread that started it ends: start it from the main
// thread, so that no child outlives a controller that is killed. Ctrl-C at a terminal does not
// reach it.
class Process {
 public:
  // `environment`: "NAME=value", added to our own. Throws std::runtime_error.
  Process(std::vector<std::string> argv, std::vector<std::string> environment,
          const std::string& output);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills and reaps the child if it still runs.
  ~Process();

  void kill();   // SIGKILL; it is dead and reaped on return
  void stop();   // SIGSTOP; it is stopped on return
  void go_on();  // SIGCONT
  // Set when it has ended: the exit code, or 128 + the signal.
  std::optional<int> ended();
  // The same; waits at most until `until`.
  std::optional<int> ended(TimePoint until);

 private:
  pid_t pid_ = -1;  // -1: reaped
  std::optional<int> code_;
};

}  // namespace lockset::chaos
