// The open space: its connections, and how a script is run over them.
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
#include "backends/server/lanes.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// Of one run of a script, behind the common ones.
struct Call {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
  // What the client had seen when it made the arguments; otherwise what it has when they go.
  std::optional<Marks> marks = {};
};

using connections::Lane;

// Thread-safe.
class Store {
 public:
  explicit Store(Options options);

  // One round trip, where nothing unusual happens. Made again as in connections::call_with_retries:
  // scripts never collide, for the server runs one at a time. A script that the server does not
  // know is sent whole. Where the space has lost its state, or part of it, it is put back first
  // from what this client knows, under quarantine.
  Result<Reply> run(const Script& script, const Call& call, TimePoint by, Lane lane = Lane::common);

  // All of them in one round trip. Those that have no answer of the script's own, because
  // something unusual happened, have a nil reply: run() is for them.
  Result<std::vector<Reply>> run_all(const Script& script, const std::vector<Call>& calls,
                                     TimePoint by);

  // Errc::misconfigured unless the server is safe and has the space as this program knows
  // it.
  Status check(TimePoint by);
  // Reads the configuration, and remembers it.
  Result<SpaceConfig> load_config(TimePoint by);
  // Of an answer {'C', ...}; remembers it.
  SpaceConfig config_from(const Reply& reply);

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
  [[nodiscard]] Memory& memory() noexcept { return memory_; }
  [[nodiscard]] connections::SocketWatchdog& watchdog() noexcept { return watchdog_; }
  // This user is a program, and the call an operator's.
  [[nodiscard]] Error takes_an_operator() const;
  [[nodiscard]] Error nonsense(std::string_view where) const;
  // What a server that is no primary is by now (errors.h).
  [[nodiscard]] Errc no_primary() const noexcept {
    return open_ ? Errc::unavailable : Errc::misconfigured;
  }

 private:
  using Lanes = connections::Lanes<Connection>;

  Result<std::unique_ptr<Connection>> open_one();
  // A call as the server takes it; refers to the call and to the keys.
  struct Words;
  void put(Words& words, const Connection& connection, const Script& script, const Call& call,
           const Marks& marks) const;
  Result<Reply> run_once(Connection& connection, const Script& script, const Call& call,
                         const Marks& marks, TimePoint by);
  // Puts the state back. Errc::misconfigured if this client knows of none.
  Status restore(Connection& connection, TimePoint by);
  Error other_schema(std::string_view schema) const;

  const Options options_;
  std::atomic<bool> open_ = false;  // check() went well
  // While check() runs nobody waits for a connection beyond its deadline.
  std::atomic<TimePoint> open_by_ = TimePoint::max();
  const Keys keys_;
  Memory memory_;
  connections::SocketWatchdog watchdog_;  // outlives the connections
  std::array<std::string, script_count> texts_;
  std::array<std::string, script_count> hashes_;  // constant once check() is through
  Lanes lanes_;
};

// Connects, and refuses what would break a promise; for a pool, doctor and init. `no_primary`: as
// in errors.h.
Result<std::unique_ptr<Connection>> connect_safely(const Options& options,
                                                   connections::SocketWatchdog& watchdog,
                                                   TimePoint by,
                                                   Errc no_primary = Errc::misconfigured);

}  // namespace lockset::redis
