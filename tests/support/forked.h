// Children forked from the test's own process, which continue from there.
#pragma once

#include <sys/types.h>

#include <functional>

namespace lockset::test {

// Runs `body` in a child and ends the child there, so that it runs nothing of the test framework.
// An exception counts as 99. A child that hangs is killed after a minute.
pid_t start_child(const std::function<int()>& body);
// Waits until it ends; returns its exit code, or 128 + the signal.
int end_of(pid_t child);
int in_child(const std::function<int()>& body);

// One byte at a time from one process to the other. Make it before the fork. If one process dies, a
// wait in the other ends.
class Signal {
 public:
  Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal();

  // Call one of these in each of the two processes, before anything else.
  void only_sends();
  void only_hears();
  [[nodiscard]] bool send() const;
  // Waits. False: no process is left that could send one.
  [[nodiscard]] bool heard() const;

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace lockset::test
