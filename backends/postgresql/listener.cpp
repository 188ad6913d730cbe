#include "backends/postgresql/listener.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <pqxx/pqxx>

#include "backends/postgresql/connection.h"

namespace lockset::postgresql {
namespace {

using connections::Listener;

class Receiver : public pqxx::notification_receiver {
 public:
  // Sends LISTEN.
  Receiver(NativeConnection& connection, Listener& listener)
      : pqxx::notification_receiver(connection, channel_of(listener)), listener_(listener) {}
  void operator()(const std::string& payload, int /*pid*/) override {
    std::uint64_t place = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), place);
    listener_.wake(place);
  }

 private:
  Listener& listener_;
};

// Bounds what follows it: the receiver's destructor sends UNLISTEN and waits for the answer, of a
// server that may be silent for good.
class Goodbye {
 public:
  explicit Goodbye(connections::SocketWatchdog::Socket* socket) : socket_(socket) {}
  Goodbye(const Goodbye&) = delete;
  Goodbye& operator=(const Goodbye&) = delete;
  ~Goodbye() {
    if (socket_ != nullptr) socket_->arm(BootClock::now() + std::chrono::seconds(1));
  }

 private:
  connections::SocketWatchdog::Socket* const socket_;
};

void listen(const Options& options, connections::SocketWatchdog& watchdog, Listener& listener) {
  const TimePoint by = BootClock::now() + options.connect_timeout;
  Result<std::unique_ptr<Connection>> connection =
      Connection::connect(options, watchdog, listener.interrupt(), by);
  if (!connection) return;
  NativeConnection& native = (*connection)->native();
  connections::CallDeadline deadline((*connection)->socket(), by);
  const Receiver receiver(native, listener);
  const Goodbye goodbye((*connection)->socket());
  if (deadline.end()) return;
  listener.connected();
  std::array<pollfd, 2> look{pollfd{native.sock(), POLLIN, 0},
                             pollfd{listener.interrupt().fd(), POLLIN, 0}};
  for (;;) {
    if (::poll(look.data(), look.size(), -1) < 0 && errno != EINTR) return;
    if (look[1].revents != 0) return;
    if (look[0].revents == 0) continue;
    native.get_notifs();
    // The other side is gone; what it still had to say has been read.
    if (!native.is_open() || (*connection)->hung_up()) return;
  }
}

}  // namespace

Listener::Listen listening(const Options& options, connections::SocketWatchdog& watchdog) {
  return [&](Listener& listener) { listen(options, watchdog, listener); };
}

std::string channel_of(const Listener& listener) { return "lockset_" + listener.name(); }

}  // namespace lockset::postgresql
