// The open space: its connections, and how a call is made over them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/connections/pool.h"
#include "backends/connections/socket_watchdog.h"
#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::mysql {

// Thread-safe.
class Store {
 public:
  // For what a call must never queue behind acquires.
  enum class Lane : std::uint8_t { common, reserved };

  explicit Store(Options options);

  // One statement over one connection. Deadlocks, duplicate keys and rows that stay locked
  // are tried again, at once and then with pauses, until `by`; `collisions` counts them.
  Result<Answer> run(const std::string& sql, Sent sent, TimePoint by, Lane lane = Lane::common,
                     std::uint32_t* collisions = nullptr);

  // Errc::misconfigured unless the server is safe and has the space as this program knows
  // it. Leaves the reserved connection open.
  Status check(TimePoint by);

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  // "lockset_locks" of "_locks".
  [[nodiscard]] std::string name(std::string_view rest) const {
    return options_.space + std::string(rest);
  }

 private:
  Result<std::unique_ptr<Connection>> open_one();

  using Connections = connections::Pool<Connection>;
  const Options options_;
  connections::SocketWatchdog watchdog_;
  Connections common_;
  Connections reserved_;
};

}  // namespace lockset::mysql
