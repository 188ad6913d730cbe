// The open space: its connections, and how it runs a script.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "backends/redis/keys.h"
#include "backends/redis/newest_state.h"
#include "backends/redis/scripts.h"
#include "backends/redis/sentinels.h"
#include "backends/server/lanes.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// The keys and arguments of one run of a script, after the common ones.
struct Call {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
  // What the client had seen when it made the arguments; if unset, what it has seen when they are
  // sent.
  std::optional<Marks> marks = {};
};

using server::Lane;

// Thread-safe.
class Store {
 public:
  explicit Store(Options options);

  // One round trip if nothing unusual happens. Repeated as in server::call_with_retries;
  // scripts never collide, because the server runs one at a time. A script that the server does not
  // know is sent in full. If the space has lost its state, or part of it, this client first
  // restores what it knows, under quarantine.
  Result<Reply> run(const Script& script, const Call& call, TimePoint by, Lane lane = Lane::common);

  // Runs all of them in one round trip. A call without an answer of its script, because something
  // unusual happened, gets a nil reply: use run() for it.
  Result<std::vector<Reply>> run_all(const Script& script, const std::vector<Call>& calls,
                                     TimePoint by);

  // Errc::misconfigured unless the server is safe and has the space in the form that this program
  // knows.
  Status check(TimePoint by);
  // Reads the configuration, and remembers it.
  Result<SpaceConfig> load_config(TimePoint by);
  // Reads an answer {'C', ...}, and remembers it.
  SpaceConfig config_from(const Reply& reply);

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
  [[nodiscard]] Memory& memory() noexcept { return memory_; }
  [[nodiscard]] server::SocketWatchdog& watchdog() noexcept { return watchdog_; }
  // The error if this user is a program and the call is an operator's.
  [[nodiscard]] Error takes_an_operator() const;
  [[nodiscard]] Error nonsense(std::string_view where) const;
  // The present error code for a server that is no primary (errors.h). One that sentinels named is
  // about to be replaced.
  [[nodiscard]] Errc no_primary() const noexcept {
    return open_ || sentinels_ ? Errc::unavailable : Errc::misconfigured;
  }
  // Whether the sentinels have named another server since than this connection's.
  [[nodiscard]] bool is_replaced(const Connection& connection) const;
  // A connection that is no call's.
  Result<std::unique_ptr<Connection>> connect(TimePoint by);
  // Which server is used, for people: "127.0.0.1:6379, main by the sentinels ..."; "" without
  // sentinels.
  [[nodiscard]] std::string server() const;

 private:
  using Lanes = server::Lanes<Connection>;

  Result<std::unique_ptr<Connection>> open_one();
  // A connection to the server that is the primary now.
  Result<Lanes::Lease> take(Lane lane, TimePoint by);
  // A call in the form for the server; refers to the call and to the keys.
  struct Words;
  void put(Words& words, const Connection& connection, const Script& script, const Call& call,
           const Marks& marks) const;
  Result<Reply> run_once(Connection& connection, const Script& script, const Call& call,
                         const Marks& marks, TimePoint by);
  // Restores the state. Errc::misconfigured if this client knows none.
  Status restore(Connection& connection, TimePoint by);
  Error other_schema(std::string_view schema) const;

  const Options options_;
  std::atomic<bool> open_ = false;  // check() succeeded
  // While check() runs, no thread waits for a connection beyond this deadline.
  std::atomic<TimePoint> open_by_ = TimePoint::max();
  const Keys keys_;
  Memory memory_;
  const std::unique_ptr<Sentinels> sentinels_;  // null without
  server::SocketWatchdog watchdog_;             // outlives the connections
  std::array<std::string, script_count> texts_;
  std::array<std::string, script_count> hashes_;  // constant after check()
  Lanes lanes_;
};

// Connects, and refuses settings that would break a promise; for a pool, doctor and init.
// `no_primary`: as in errors.h. `sentinels`: those of the options, if they are known already.
Result<std::unique_ptr<Connection>> connect_safely(const Options& options,
                                                   server::SocketWatchdog& watchdog, TimePoint by,
                                                   Errc no_primary = Errc::misconfigured,
                                                   Sentinels* sentinels = nullptr);

}  // namespace lockset::redis
