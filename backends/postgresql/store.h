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
#include "backends/postgresql/lane.h"
#include "backends/postgresql/rights.h"
#include "backends/server/pool.h"
#include "backends/server/socket_watchdog.h"
#include "core/random.h"

namespace lockset::postgresql {

// Over which connections a call goes.
enum class Use {
  plain,
  acquire,  // strategy=serializable: connections of their own, set to that level
  renewal,  // never behind the others
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
  // Closes connections that nobody uses now.
  void close_idle();

  // "SELECT <columns> FROM|... of the space's function": `call` is the text after SELECT, with @
  // for the schema and a dot, as in "@release_v1($1,$2)".
  [[nodiscard]] Statement statement(const std::string& name, const std::string& call, Sent sent,
                                    Role role = Role::programs);

  // Repeats what the server rolled back for others' sake, until `by`, and counts it in
  // `collisions`. `failure` is filled where there is an error of the server's.
  template <class... Args>
  Result<pqxx::result> call(Use use, const Statement& statement, TimePoint by, Failure& failure,
                            std::uint32_t& collisions, const Args&... args) {
    const bool serializable = use == Use::acquire && strategy_ == Strategy::serializable;
    // To read again does no harm, so a connection that broke need not be known to others.
    std::uint32_t readings = statement.sent == Sent::reading ? 3 : 1;
    for (std::uint32_t tries = 1;; ++tries) {
      Result<Line> line = take(use, by);
      if (!line) {
        if (!line.error().retryable() || --readings == 0) return line.error();
        continue;
      }
      Result<pqxx::result> result = (*line)->call(
          statement, serializable ? Isolation::serializable : Isolation::read_committed, by,
          failure, args...);
      if (result) return result;
      if (failure.broken) {
        line->broken();
        if (--readings == 0 || BootClock::now() >= by) return result;
        continue;
      }
      if (failure.sqlstate == "42501") {
        return not_allowed(options_, statement.role, (*line)->user(), failure.said);
      }
      if (is_missing(failure.sqlstate)) return say_what_is_there(*line, by, result.error());
      if (!failure.repeat() || !worth_waiting(failure, tries, by)) return result;
      if (failure.sqlstate.starts_with("40")) ++collisions;
    }
  }

 private:
  using Pool = Line::Pool;

  explicit Store(const Options& options);
  Pool& pool(Use use) noexcept;
  Result<Line> take(Use use, TimePoint by);
  Result<std::unique_ptr<Connection>> connect(Isolation isolation);
  // Sets the session up, and refuses what would break a promise.
  Status set_up(Connection& connection, Isolation isolation, TimePoint by);

  static bool is_missing(std::string_view sqlstate) noexcept;
  // A function of our version is not there: has the space been upgraded meanwhile?
  Error say_what_is_there(Line& line, TimePoint by, const Error& otherwise);
  // Sleeps before another try; false if there is no time for one.
  bool worth_waiting(const Failure& failure, std::uint32_t tries, TimePoint by);

  const Options options_;
  Strategy strategy_ = Strategy::advisory;                // constant once open() is through
  std::atomic<Strategy> made_with_ = Strategy::advisory;  // the space's strategy, as last seen
  connections::SocketWatchdog watchdog_;                  // outlives the connections
  connections::Interrupt interrupt_;
  std::mutex opening_mutex_;
  std::condition_variable opened_;
  bool ending_ = false;                                     // guarded by opening_mutex_
  std::set<connections::SocketWatchdog::Socket*> opening_;  // guarded by opening_mutex_
  std::size_t statements_ = 0;
  std::mutex random_mutex_;
  Random random_;
  std::atomic<bool> crowded_ = false;
  std::atomic<bool> open_ = false;  // open() went well
  std::mutex ear_mutex_;
  std::shared_ptr<Ear> ear_;    // guarded by ear_mutex_; null: nobody listens
  std::size_t plain_most_ = 0;  // constant once open() is through
  std::unique_ptr<Pool> plain_;
  std::unique_ptr<Pool> acquire_;  // null unless strategy=serializable
  std::unique_ptr<Pool> renewal_;
};

}  // namespace lockset::postgresql
