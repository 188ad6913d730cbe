// Ends attempts to connect, and sleeps on a connection, that are still under way.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockset::server {

// Thread-safe.
class Interrupt {
 public:
  // Throws std::system_error if the process has no descriptor left.
  Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() { ::close(fd_); }

  // From now on, permanently.
  void set() noexcept { static_cast<void>(::eventfd_write(fd_, 1)); }
  // Readable once it is set.
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace lockset::server
