#include "backends/redis/waiting.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace lockset::redis {
namespace {

using server::Listener;

void hear(Listener& listener, const Reply& message) {
  if (message[0].text() != "message") return;
  const std::string_view which = message[2].text();
  if (which == "*") return listener.wake_all();
  std::uint64_t number = 0;
  std::from_chars(which.data(), which.data() + which.size(), number);
  listener.wake(number);
}

// How often it looks whether calls go to another server by now, in milliseconds.
constexpr int looks_up = 1000;

void listen(Store& store, Listener& listener) {
  const TimePoint by = BootClock::now() + store.options().connect_timeout;
  Result<std::unique_ptr<Connection>> opened = store.connect(by);
  if (!opened) return;
  Connection& connection = **opened;
  if (!connection.ask({"SUBSCRIBE", store.keys().channel(listener.name())}, Sent::reading, by)) {
    return;  // the user may have no right to it; waiters poll
  }
  listener.connected();
  std::array<pollfd, 2> look{pollfd{connection.fd(), POLLIN, 0},
                             pollfd{listener.interrupt().fd(), POLLIN, 0}};
  for (;;) {
    if (::poll(look.data(), look.size(), looks_up) < 0 && errno != EINTR) return;
    if (look[1].revents != 0 || store.is_replaced(connection)) return;
    if (look[0].revents == 0) continue;
    for (bool read = true;; read = false) {
      const Result<Reply> message = connection.received(read);
      if (!message) return;
      if (message->is_nil()) break;
      hear(listener, *message);
    }
  }
}

}  // namespace

server::Listener::Listen subscribing(Store& store) {
  return [&store](Listener& listener) { listen(store, listener); };
}

std::string waiter_name(const Listener& listener, const Listener::Subscription& subscription) {
  return listener.name() + ":" + std::to_string(subscription.number());
}

}  // namespace lockset::redis
