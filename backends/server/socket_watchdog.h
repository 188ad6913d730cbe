// Ends blocking calls of client libraries without deadlines: at the deadline it shuts down their
// socket, and they return with a lost connection.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "core/machine.h"
#include "lockset/clock.h"

namespace lockset::server {

// Thread-safe. One thread for any number of sockets; it starts with the first one.
class SocketWatchdog {
 public:
  // The socket of one connection. Used by one thread at a time, like the connection.
  class Socket {
   public:
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    // From now on the socket is shut down, in both directions, at `by`.
    void arm(TimePoint by);
    // Cancels that. True if it was shut down since it was armed: then the connection is useless,
    // and the outcome of its request is in doubt.
    bool disarm();
    // True if the peer has closed or broken the connection already. Asks only the kernel, so it
    // does not notice a peer that vanished silently.
    [[nodiscard]] bool hung_up() const noexcept;
    // Our own duplicate, to sleep on. It belongs to the Socket.
    [[nodiscard]] int fd() const noexcept { return fd_; }

   private:
    friend class SocketWatchdog;
    Socket(SocketWatchdog& watchdog, int fd) : watchdog_(watchdog), fd_(fd) {}

    SocketWatchdog& watchdog_;
    // Our own duplicate. The client library may close its descriptor after an error, and the number
    // may then belong to another file.
    const int fd_;
    TimePoint by_ = TimePoint::max();  // guarded by the watchdog's mutex
    bool shut_ = false;                // guarded by the watchdog's mutex
  };

  SocketWatchdog() = default;
  SocketWatchdog(const SocketWatchdog&) = delete;
  SocketWatchdog& operator=(const SocketWatchdog&) = delete;
  // REQUIRES: no Socket exists.
  ~SocketWatchdog();

  // `fd` still belongs to the caller. Null if it can't be duplicated. The Socket must not outlive
  // this object.
  std::unique_ptr<Socket> watch(int fd);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Socket*> sockets_;
  TimePoint next_look_ = TimePoint::max();
  bool ending_ = false;
  Thread thread_;
};

// Arms a socket for a scope. A null socket is ignored.
class CallDeadline {
 public:
  CallDeadline(SocketWatchdog::Socket* socket, TimePoint by) : socket_(socket) {
    if (socket_ != nullptr) socket_->arm(by);
  }
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;
  ~CallDeadline() { (void)end(); }

  // Ends it early; true if the socket was shut down.
  bool end() {
    SocketWatchdog::Socket* const socket = std::exchange(socket_, nullptr);
    return socket != nullptr && socket->disarm();
  }

 private:
  SocketWatchdog::Socket* socket_;
};

}  // namespace lockset::server
