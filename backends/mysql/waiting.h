// Receives the wake-ups that other clients send to this client's waiters.
//
// A connection sleeps in the procedure park.sql, and holds a user-level lock that has the
// listener's name: so it can be found by that name, and by nothing else. A client that has woken a
// waiter (marked its row, and committed) ends that sleep by KILL QUERY. The procedure answers which
// waiters are marked. It also looks by itself, every now and then: a KILL needs the same account.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/mysql/connection.h"
#include "backends/mysql/store.h"
#include "backends/server/listener.h"

namespace lockset::mysql {

// Ends the sleep of this listener's connection; an error if there is none.
std::string wake_text(std::string_view listener);

// The listener's connection. Thread-safe.
class Parking {
 public:
  explicit Parking(Store& store) : store_(store) {}

  // Listener::Listen: one life of the connection.
  void listen(server::Listener& listener);
  // The last attempt to connect failed, or found too few connections left.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  // Ends listen() soon, permanently.
  void end();

 private:
  // False: it ended meanwhile.
  bool use(Connection* connection);
  void park(Connection& connection, server::Listener& listener);

  Store& store_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  Connection* connection_ = nullptr;  // guarded by the mutex
  bool ended_ = false;                // guarded by the mutex
};

}  // namespace lockset::mysql
