#include "backends/server/socket_watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "core/time_math.h"

namespace lockset::server {

SocketWatchdog::~SocketWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<SocketWatchdog::Socket> SocketWatchdog::watch(int fd) {
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  std::unique_ptr<Socket> socket(new Socket(*this, own));
  try {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_.start([this] { run(); });
    sockets_.insert(socket.get());
  } catch (const std::system_error&) {
    return nullptr;  // no thread could be started
  }
  return socket;
}

void SocketWatchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const TimePoint now = BootClock::now();
    next_look_ = TimePoint::max();
    for (Socket* const socket : sockets_) {
      if (socket->by_ <= now) {
        ::shutdown(socket->fd_, SHUT_RDWR);
        socket->by_ = TimePoint::max();
        socket->shut_ = true;
      }
      next_look_ = std::min(next_look_, socket->by_);
    }
    changed_.wait_until(lock, on_steady_clock(next_look_));
  }
}

SocketWatchdog::Socket::~Socket() {
  {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.sockets_.erase(this);
  }
  ::close(fd_);
}

void SocketWatchdog::Socket::arm(TimePoint by) {
  bool sooner = false;
  {
    const std::lock_guard lock(watchdog_.mutex_);
    by_ = by;
    shut_ = false;
    // Most calls end long before their deadline, and the next call's deadline is later: the thread
    // then sleeps on.
    sooner = by < watchdog_.next_look_;
    if (sooner) watchdog_.next_look_ = by;
  }
  if (sooner) watchdog_.changed_.notify_one();
}

bool SocketWatchdog::Socket::disarm() {
  const std::lock_guard lock(watchdog_.mutex_);
  by_ = TimePoint::max();
  return shut_;
}

bool SocketWatchdog::Socket::hung_up() const noexcept {
  pollfd look{fd_, POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

}  // namespace lockset::server
