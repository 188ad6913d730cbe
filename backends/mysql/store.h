// The open space: its connections, and how it makes a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "backends/server/lanes.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::mysql {

using server::Lane;

// Thread-safe.
class Store {
 public:
  explicit Store(Options options);

  // One statement over one connection, repeated as in server::call_with_retries. `collisions`
  // counts deadlocks, duplicate keys and rows that stay locked.
  Result<Reply> run(const std::string& sql, Sent sent, TimePoint by, Lane lane = Lane::common,
                    std::uint32_t* collisions = nullptr);

  // Errc::misconfigured unless the server is safe and has the space in the form that this program
  // knows. Leaves no connection open.
  Status check(TimePoint by);

  // The connection over which this client is told of wake-ups; it is no part of the pools.
  Result<std::unique_ptr<Connection>> connect_to_listen(TimePoint by) { return connect(by); }
  // Opens a connection unless there is one, for a caller that may wait: crowded() is then what the
  // server says now.
  Status connect_for_waiting(TimePoint by);
  // Asks the server over the listening connection: crowded() is then what it says now. If it has
  // few left, closes all idle connections but one.
  Status look_for_room(Connection& connection, TimePoint by);
  // The server had few connections left when the last one was made: waiters keep none of them.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  // Closes the idle connections, except for `keep` of them.
  void close_idle(std::size_t keep) {
    lanes_.common.close_idle(keep);
    lanes_.renewal.close_idle();
  }

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  // From "_locks" makes "lockset_locks".
  [[nodiscard]] std::string name(std::string_view rest) const {
    return options_.space + std::string(rest);
  }
  // Runs all of these in one transaction on one connection: one flush, and a round trip each. After
  // an error nothing was applied, unless the error says perhaps. None of them may begin or end a
  // transaction itself.
  Result<std::vector<Reply>> run_together(const std::vector<std::string>& calls, TimePoint by);

 private:
  Result<std::unique_ptr<Connection>> connect(TimePoint by);
  // A server that is no longer writable is Errc::unavailable: a failover is under way. If the
  // address leads to the writable server, the next connection reaches it.
  static Result<Reply> ask(Connection& connection, const std::string& sql, Sent sent, TimePoint by,
                           CallFailure& failure);

  using Lanes = server::Lanes<Connection>;
  const Options options_;
  server::SocketWatchdog watchdog_;
  Lanes lanes_;
  std::atomic<bool> crowded_ = false;
};

}  // namespace lockset::mysql
