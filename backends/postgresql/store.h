// The connections of one backend object, and the calls over them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "backends/postgresql/address.h"
#include "backends/postgresql/connection.h"
#include "backends/postgresql/line.h"
#include "backends/postgresql/rights.h"
#include "backends/server/lanes.h"
#include "backends/server/pool.h"
#include "backends/server/retry.h"
#include "backends/server/socket_watchdog.h"

namespace lockset::postgresql {

using server::Lane;

// What tells a primary from the one that it has replaced: a promoted standby has a later timeline.
struct Origin {
  std::string cluster;
  std::int64_t timeline = 0;  // 0: a standby
};

// Thread-safe.
class Store {
 public:
  // Connects, and checks that the space can be served and that its server is safe.
  static Result<std::unique_ptr<Store>> open(const Options& options, TimePoint by);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  // Waits for nobody: interrupts whatever is still connecting.
  ~Store();

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] Strategy strategy() const noexcept { return strategy_; }

  // A connection that listens from now on, by `by`.
  Result<Line::Pool::Lease> take_to_listen(TimePoint by) { return plain_->take(by); }
  // It listens, and calls may use it, too. Null: no longer.
  void share(std::shared_ptr<Ear> ear);

  // The server had few connections left when the last one was made: waiters keep none of them.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  // Opens the connections that a waiter needs, unless there are some: crowded() is up to date after
  // this.
  Status connect_for_waiting(TimePoint by);
  // A connection apart from the pools, checked and set up like theirs. It must not outlive this
  // object.
  Result<std::unique_ptr<Connection>> connect_apart(TimePoint by) {
    return connect(Isolation::read_committed, by);
  }
  // Closes connections that nobody uses now.
  void close_idle();

  // "SELECT <columns> FROM|... of the space's function": `call` is the text after SELECT, with @
  // for the schema and a dot, as in "@release_v1($1,$2)".
  [[nodiscard]] Statement statement(const std::string& name, const std::string& call, Sent sent,
                                    Role role = Role::programs);

  // Repeated as in server::call_with_retries. `collisions` counts how often the server rolled
  // the call back in favour of others. `failure` is filled if the server reports an error.
  template <class... Args>
  Result<pqxx::result> call(Lane lane, const Statement& statement, TimePoint by,
                            CallFailure& failure, std::uint32_t& collisions, const Args&... args) {
    const bool serializable = lane == Lane::acquire && strategy_ == Strategy::serializable;
    return server::call_with_retries(
        statement.sent, by, [&] { return take(lane, by); },
        [&](Line& line, server::Attempt& attempt) -> Result<pqxx::result> {
          Result<pqxx::result> result = line->call(
              statement, serializable ? Isolation::serializable : Isolation::read_committed, by,
              failure, args...);
          if (result) return result;
          attempt = attempt_of(failure, by);
          if (failure.broken) return result;
          if (failure.sqlstate == "42501") {
            return not_allowed(options_, statement.role, line->user(), failure.said);
          }
          if (is_missing(failure.sqlstate)) return say_what_is_there(line, by, result.error());
          if (failure.sqlstate.starts_with("40")) ++collisions;
          return result;
        });
  }

 private:
  using Pool = Line::Pool;

  explicit Store(const Options& options);
  // Not server::Lanes: acquires may have their own connections, and other calls may use the
  // listening one.
  Result<Line> take(Lane lane, TimePoint by);
  Result<std::unique_ptr<Connection>> connect(Isolation isolation, TimePoint by = TimePoint::max());
  // Sets up the session, and refuses settings that would break a promise. `replaced`: it was
  // refused because a newer primary has been seen.
  Status set_up(Connection& connection, Isolation isolation, TimePoint by, bool& replaced);
  // Whether this server is the newest that was seen; then it counts as that.
  bool is_newest(const Origin& origin);
  // With several hosts: which of them is the newest primary.
  void look_at_all_hosts(TimePoint by);

  static bool is_missing(std::string_view sqlstate) noexcept;
  // A function of our version is missing: was the space upgraded meanwhile?
  Error say_what_is_there(Line& line, TimePoint by, const Error& otherwise);
  static server::Attempt attempt_of(const CallFailure& failure, TimePoint by) noexcept;

  const Options options_;
  Strategy strategy_ = Strategy::advisory;                // constant after open()
  std::atomic<Strategy> made_with_ = Strategy::advisory;  // the space's strategy, as last seen
  server::SocketWatchdog watchdog_;                       // outlives the connections
  server::Interrupt interrupt_;
  std::mutex opening_mutex_;
  std::condition_variable opened_;
  bool ending_ = false;                                // guarded by opening_mutex_
  std::set<server::SocketWatchdog::Socket*> opening_;  // guarded by opening_mutex_
  std::size_t statements_ = 0;
  std::atomic<bool> crowded_ = false;
  std::mutex newest_mutex_;
  Origin newest_;                   // guarded by newest_mutex_; of all servers that were seen
  std::atomic<bool> open_ = false;  // open() succeeded
  std::mutex ear_mutex_;
  std::shared_ptr<Ear> ear_;    // guarded by ear_mutex_; null: nobody listens
  std::size_t plain_most_ = 0;  // constant after open()
  std::unique_ptr<Pool> plain_;
  std::unique_ptr<Pool> acquire_;  // null unless strategy=serializable
  std::unique_ptr<Pool> renewal_;
};

}  // namespace lockset::postgresql
