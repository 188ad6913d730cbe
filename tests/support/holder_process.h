// A process that holds something, for tests that kill or stop it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "lockset/lockset.h"

namespace lockset::test {

// A process with a hold on "a", or another set. It answers each byte that it gets with whether the
// hold is valid. `waits`: nobody waits until it has the hold.
class HolderProcess {
 public:
  HolderProcess(const std::string& url, Duration lease,
                const std::vector<LockRequest>& set = {write("a")}, bool waits = false) {
    if (::pipe(to_.data()) != 0 || ::pipe(from_.data()) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) run(url, lease, set);
    ::close(to_[0]);
    ::close(from_[1]);
    if (!waits && answer() != 'g') throw std::runtime_error("the holder got nothing");
  }
  HolderProcess(const HolderProcess&) = delete;
  HolderProcess& operator=(const HolderProcess&) = delete;
  ~HolderProcess() {
    kill(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_[1]);
    ::close(from_[0]);
  }
  void kill(int signal) const { ::kill(pid_, signal); }
  bool valid() {
    EXPECT_EQ(::write(to_[1], "v", 1), 1);
    return answer() == 'v';
  }

 private:
  char answer() {
    char byte = 0;
    return ::read(from_[0], &byte, 1) == 1 ? byte : 'x';
  }
  [[noreturn]] void run(const std::string& url, Duration lease,
                        const std::vector<LockRequest>& set) {
    ::close(to_[1]);
    ::close(from_[0]);
    auto locks = lockset::open(url, {.app = "child", .lease = lease});
    auto hold = locks ? locks->acquire(set) : Result<Hold>(locks.error());
    char byte = hold ? 'g' : 'x';
    while (::write(from_[1], &byte, 1) == 1 && ::read(to_[0], &byte, 1) == 1) {
      byte = hold->valid() ? 'v' : 'n';
    }
    ::_exit(0);
  }
  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t pid_ = 0;
};

}  // namespace lockset::test
