// The server's clock, as far as it can be known.
//
// memcached counts whole seconds, in a variable that a timer of its main thread sets. A reading may
// be old: a server that was stopped answers with the time of before until its timer has run. So a
// reading is only a lower bound. An upper bound takes two of them: the second between which the
// value changed began after the first one was asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/memcached/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::memcached {

// In microseconds since 1970 by the server. What it really is lies between the two.
struct Moment {
  std::string process;  // of the server: the clock of another one has nothing to do with it
  std::int64_t lower_us = 0;
  std::int64_t upper_us = 0;
  // Close to the two, and even: differences between readings are right.
  std::int64_t shown_us = 0;
};

// What was read, and when. Pure.
class Ticks {
 public:
  // The server said `second`, after `asked` and before `answered`, by the boot clock.
  void saw(const std::string& process, std::int64_t second, TimePoint asked, TimePoint answered);
  // Unset: no tick was seen, or too long ago. Clocks drift apart.
  [[nodiscard]] std::optional<Moment> at(TimePoint now) const;
  // The same without an upper bound: a guess, for people.
  [[nodiscard]] Moment guess(TimePoint now) const;
  [[nodiscard]] bool fresh(TimePoint now) const;
  [[nodiscard]] bool tick_is_old(TimePoint now) const;

 private:
  struct Bound {
    std::int64_t offset_us = 0;  // the server's time is at most this more than ours
    TimePoint known_at;
  };
  [[nodiscard]] static std::int64_t aged(const Bound& bound, TimePoint now);

  std::string process_;
  std::int64_t second_ = 0;
  TimePoint asked_;     // for the last reading
  TimePoint answered_;  // the last reading
  std::optional<Bound> bound_;
  std::int64_t shown_offset_us_ = 0;
};

// Thread-safe. All clients in this process of one server share one.
class ServerTime {
 public:
  static std::shared_ptr<ServerTime> of(const std::string& server);

  // The time now. Asks the server, unless that was done just now by anybody. Waits for a tick if
  // none was seen for long: up to a second.
  Result<Moment> now(Connection& connection, TimePoint by);
  // As now(), but never waits; the upper bound is a guess.
  Result<Moment> about_now(Connection& connection, TimePoint by);
  // As now(), after asking the server in any case.
  Result<Moment> read_now(Connection& connection, TimePoint by);
  // Looks for a tick, if the last one was seen some time ago.
  Status refresh(Connection& connection, TimePoint by);

 private:
  Status ask(Connection& connection, TimePoint by);
  [[nodiscard]] bool fresh();

  std::mutex mutex_;
  Ticks ticks_;
};

}  // namespace lockset::memcached
