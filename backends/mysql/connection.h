// A connection to the server, set up for Lockset, with a deadline on each call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/errors.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace sql {
class Connection;
}

namespace lockset::mysql {

// The answer of a statement or a procedure: the rows of its first result set.
struct Reply {
  using Row = std::vector<std::optional<std::string>>;
  std::vector<Row> rows;
  std::uint64_t affected = 0;  // rows, for a call without a result set

  [[nodiscard]] const std::string& text(std::size_t column, std::size_t row = 0) const;
  [[nodiscard]] std::int64_t number(std::size_t column, std::size_t row = 0) const;
  [[nodiscard]] std::optional<std::int64_t> optional_number(std::size_t column,
                                                            std::size_t row = 0) const;
};

// Why a call failed.
struct CallFailure {
  Error error;
  int code = 0;
  bool broken = false;  // the connection is useless now
  [[nodiscard]] bool repeat() const noexcept { return worth_repeating(code); }
};

// Used by one thread at a time.
class Connection {
 public:
  // Connects and sets up the session: isolation level, time zone, character set and everything else
  // that the statements rely on. Ends at `by`, rounded up to the client library's whole seconds.
  // `options` and `watchdog` must outlive it.
  static Result<std::unique_ptr<Connection>> connect(const Options& options,
                                                     server::SocketWatchdog& watchdog,
                                                     TimePoint by);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // One statement, one round trip. Never several statements in one text: the connection does not
  // allow them. Names in `sql` are hexadecimal literals, so nothing needs quoting.
  Result<Reply> run(const std::string& sql, Sent sent, TimePoint by, CallFailure& failure);

  [[nodiscard]] bool hung_up() const noexcept;
  // Ends the call under way, and makes the connection useless. May be called by another thread.
  // Without effect if the connection has no deadlines.
  void cut() const noexcept;
  // False if the socket could not be distinguished from the host program's own: then calls end by
  // the client library's timeout, some 30 s.
  [[nodiscard]] bool has_deadlines() const noexcept { return socket_ != nullptr; }

 private:
  Connection(const Options& options, std::unique_ptr<sql::Connection> native);
  void use_socket(int fd, server::SocketWatchdog& watchdog);
  Status set_up(TimePoint by);
  CallFailure failed(const std::exception& error, Sent sent) const;

  const Options& options_;
  const std::string where_;
  std::unique_ptr<sql::Connection> native_;
  std::unique_ptr<server::SocketWatchdog::Socket> socket_;
};

}  // namespace lockset::mysql
