// TLS libraries, and ZooKeeper's client, write to a broken connection without MSG_NOSIGNAL. In the
// guard's scope this thread gets no SIGPIPE from that.
#pragma once

#include <csignal>
#include <ctime>

namespace lockset::server {

class SigpipeGuard {
 public:
  // Does nothing unless `needed`: without TLS, writes use MSG_NOSIGNAL.
  explicit SigpipeGuard(bool needed) noexcept : needed_(needed) {
    if (!needed_) return;
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;
  ~SigpipeGuard() {
    if (!needed_) return;
    if (!was_pending_) {
      const timespec at_once{};
      sigtimedwait(&pipe_, nullptr, &at_once);  // ours, if there is one
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  const bool needed_;
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace lockset::server
