#include "backends/postgresql/waiting.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "backends/postgresql/connection.h"
#include "backends/postgresql/line.h"
#include "backends/postgresql/pqxx_versions.h"

namespace lockset::postgresql {
namespace {

using server::Listener;

// Limits what comes after it: the receiver's destructor sends UNLISTEN and waits for the answer of
// a server that may never answer.
class Goodbye {
 public:
  explicit Goodbye(server::SocketWatchdog::Socket* socket) : socket_(socket) {}
  Goodbye(const Goodbye&) = delete;
  Goodbye& operator=(const Goodbye&) = delete;
  ~Goodbye() {
    if (socket_ != nullptr) socket_->arm(BootClock::now() + std::chrono::seconds(1));
  }

 private:
  server::SocketWatchdog::Socket* const socket_;
};

// Lets the store use the connection for calls while this exists.
class Shared {
 public:
  Shared(Store& store, Connection& connection)
      : store_(store), ear_(std::make_shared<Ear>(connection)) {
    store_.share(ear_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { (void)end(); }
  Ear& ear() noexcept { return *ear_; }
  // False if the connection failed.
  bool end() {
    store_.share(nullptr);
    return ear_->close();
  }

 private:
  Store& store_;
  const std::shared_ptr<Ear> ear_;
};

// Runs until the connection fails (then false) or the listener ends.
bool listen_over(Connection& connection, Store& store, Listener& listener, TimePoint by) {
  server::CallDeadline deadline(connection.socket(), by);
  const Receiver receiver(
      connection.native(), channel_of(listener), [&listener](std::string_view payload) {
        std::uint64_t subscription = 0;
        std::from_chars(payload.data(), payload.data() + payload.size(), subscription);
        listener.wake(subscription);
      });
  const Goodbye goodbye(connection.socket());
  if (deadline.end()) return false;
  Shared shared(store, connection);
  listener.connected();
  // The socket is the watchdog's duplicate: the library may close its own under a call.
  std::array<pollfd, 2> look{pollfd{connection.socket()->fd(), POLLIN | POLLRDHUP, 0},
                             pollfd{listener.interrupt().fd(), POLLIN, 0}};
  for (;;) {
    if (::poll(look.data(), look.size(), -1) < 0 && errno != EINTR) return shared.end();
    if (look[1].revents != 0) return shared.end();
    if (look[0].revents == 0) continue;
    // This may be the answer to the call that has the turn; that call ends by its deadline.
    if (!shared.ear().hear()) return shared.end();
    // The other side has closed the connection; what it sent before has been read.
    if (connection.hung_up()) {
      static_cast<void>(shared.end());
      return false;
    }
  }
}

void listen(Store& store, Listener& listener) {
  const TimePoint by = BootClock::now() + store.options().connect_timeout;
  Result<Line::Pool::Lease> lease = store.take_to_listen(by);
  if (!lease) return;
  try {
    if (listen_over(**lease, store, listener, by)) return;
  } catch (const std::exception&) {
    // The listener connects again.
  }
  lease->broken();
}

}  // namespace

Listener::Listen listening(Store& store) {
  return [&](Listener& listener) { listen(store, listener); };
}

std::string channel_of(const Listener& listener) { return "lockset_" + listener.name(); }

}  // namespace lockset::postgresql
