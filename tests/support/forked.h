// Children of the test's own process, which run on from where it forked.
#pragma once

#include <sys/types.h>

#include <functional>

namespace lockset::test {

// Runs `body` in a child, which must not run anything of the test framework, and ends it there; an
// exception counts as 99. A child that hangs dies after a minute.
pid_t start_child(const std::function<int()>& body);
// Waits for its end; its exit code, or 128 + the signal.
int end_of(pid_t child);
int in_child(const std::function<int()>& body);

// One byte at a time from one process to the other. Make it before the fork; whoever waits for one
// that died hears of it.
class Signal {
 public:
  Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal();

  // Each for one of the two processes, before anything else.
  void only_sends();
  void only_hears();
  [[nodiscard]] bool send() const;
  // Waits. False: nobody is left to send one.
  [[nodiscard]] bool heard() const;

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace lockset::test
