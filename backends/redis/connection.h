// A connection to the server, set up for the address: logged in, database chosen.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/address.h"
#include "backends/redis/errors.h"
#include "backends/redis/reply.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// The words of a command, binary-safe. They refer to the caller's memory.
using Command = std::vector<std::string_view>;

// Used by one thread at a time. Useless after a failed call: a late answer would be mistaken for
// the next command's.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> connect(const Options& options,
                                                     server::SocketWatchdog& watchdog,
                                                     TimePoint by);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Sends the command and waits for the answer, which may be an error reply (Reply::is_error). An
  // error means that the connection failed.
  Result<Reply> call(const Command& command, Sent sent, TimePoint by);
  // Sends all of them together, and waits for their answers. After an error, no outcome is known.
  Result<std::vector<Reply>> call_all(const std::vector<Command>& commands, Sent sent,
                                      TimePoint by);
  // As call; an error reply becomes an Error.
  Result<Reply> ask(const Command& command, Sent sent, TimePoint by);
  // Sends without waiting.
  Status send(const Command& command, TimePoint by);
  // What has arrived without a request, or a nil reply if there is nothing more. Reads from the
  // socket once if `read`; then REQUIRES: it is readable.
  Result<Reply> received(bool read);

  [[nodiscard]] bool hung_up() const noexcept { return broken_ || socket_->hung_up(); }
  [[nodiscard]] int fd() const noexcept { return context_->fd; }
  [[nodiscard]] const Place& server() const noexcept { return options_.server; }
  // The server process at the other end: run_id of INFO.
  [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
  // The text of INFO when the connection was made.
  [[nodiscard]] const std::string& info() const noexcept { return info_; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, FreeContext>;

  Connection(const Options& options, Context context,
             std::unique_ptr<server::SocketWatchdog::Socket> socket);
  Status log_in(TimePoint by);
  // Hands requests to the kernel. On failure, `all` says whether the server may have all of them.
  bool write(const std::string& wire, bool& all);
  // Waits for the answer to the first request without one.
  Result<Reply> answer(Sent sent, server::CallDeadline& deadline);
  Error failed(Sent sent, bool late);

  const Options options_;  // of this server: those of the space may name it by sentinels
  Context context_;
  std::unique_ptr<server::SocketWatchdog::Socket> socket_;
  bool broken_ = false;
  bool tls_ = false;
  std::string run_id_;
  std::string info_;
};

// "standalone", "cluster" or "sentinel": redis_mode of INFO, which Valkey calls server_mode.
std::string mode_of(std::string_view info);

// One line of INFO: "role" -> "master"; "" if there is none.
std::string info_field(std::string_view info, std::string_view name);

}  // namespace lockset::redis
