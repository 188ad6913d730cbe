#include "backends/memcached/server_time.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "core/fork_guard.h"

namespace lockset::memcached {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A reading serves that long. It is a lower bound for ever; only its use ages.
constexpr milliseconds reading_lasts{100};
// Between two readings that wait for a tick.
constexpr milliseconds pause{10};
// How long a tick counts, and after how long a client looks for another one in the background.
constexpr seconds tick_lasts{120};
constexpr seconds tick_grows_old{60};
// The error of a bound is at most the time between its two readings.
constexpr milliseconds close_together{500};
// By how much the rates of the two clocks may differ: 1 / 500, several times what NTP does.
constexpr std::int64_t drift = 500;

std::int64_t floor_us(Duration duration) {
  return std::chrono::duration_cast<microseconds>(duration).count();
}
std::int64_t floor_us(TimePoint moment) { return floor_us(moment.time_since_epoch()); }

}  // namespace

void Ticks::saw(const std::string& process, std::int64_t second, TimePoint asked,
                TimePoint answered) {
  if (asked < asked_) return;  // of another thread, which was overtaken
  if (process != process_ || (second < second_ && asked >= answered_)) {
    *this = Ticks();
    process_ = process;
  } else if (second < second_) {
    return;
  } else if (second > second_) {
    // When it became `second`, less than a second of that had passed; and that was after asked_.
    const Bound bound{(second + 1) * 1'000'000 - floor_us(asked_), answered};
    const bool better = bound_ && bound.offset_us <= aged(*bound_, answered);
    const bool needed = !bound_ || tick_is_old(answered);
    if (better || (needed && answered - asked_ <= close_together)) bound_ = bound;
  }
  second_ = second;
  asked_ = asked;
  answered_ = answered;
  // Even, as long as it is not certainly wrong.
  const std::int64_t now_us = floor_us(answered);
  const std::int64_t shown = now_us + shown_offset_us_;
  const std::int64_t most = bound_ ? now_us + aged(*bound_, answered) : (second + 2) * 1'000'000;
  if (shown < second * 1'000'000 - 1'000'000 || shown > most + 1'000'000) {
    shown_offset_us_ = most - now_us;
  }
}

std::int64_t Ticks::aged(const Bound& bound, TimePoint now) {
  return bound.offset_us + std::max<std::int64_t>(0, floor_us(now - bound.known_at)) / drift + 1;
}

Moment Ticks::guess(TimePoint now) const {
  Moment moment{process_, second_ * 1'000'000, 0, floor_us(now) + shown_offset_us_};
  moment.upper_us = bound_ ? floor_us(now) + aged(*bound_, now) : moment.shown_us;
  moment.upper_us = std::max(moment.upper_us, moment.lower_us);
  return moment;
}

std::optional<Moment> Ticks::at(TimePoint now) const {
  if (!bound_ || now - bound_->known_at > tick_lasts) return {};
  return guess(now);
}

bool Ticks::tick_is_old(TimePoint now) const {
  return !bound_ || now - bound_->known_at > tick_grows_old;
}

bool Ticks::fresh(TimePoint now) const {
  return !process_.empty() && now - answered_ < reading_lasts;
}

// A child of this process makes its own: another thread may have been using the parent's when it
// forked. It never waits for the list, for the same reason.
std::shared_ptr<ServerTime> ServerTime::of(const std::string& server) {
  static std::mutex mutex;
  // Never destroyed: a client may work until the end of exit().
  static auto& known =
      *new std::map<std::pair<std::uint64_t, std::string>, std::shared_ptr<ServerTime>>;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return std::make_shared<ServerTime>();
  std::shared_ptr<ServerTime>& one = known[{fork_generation(), server}];
  if (!one) one = std::make_shared<ServerTime>();
  return one;
}

Status ServerTime::ask(Connection& connection, TimePoint by) {
  const TimePoint asked = BootClock::now();
  const Result<std::map<std::string, std::string>> stats = connection.stats("", by);
  const TimePoint answered = BootClock::now();
  if (!stats) return stats.error();
  const auto number = [&](const char* name) {
    const auto one = stats->find(name);
    return one == stats->end() ? 0 : std::strtoll(one->second.c_str(), nullptr, 10);
  };
  const std::int64_t second = number("time");
  if (second <= 0) {
    // A connection that was reset loses the rest of an answer.
    return Error{Errc::unavailable, "memcached: the server's stats tell no time"};
  }
  const std::string process =
      std::to_string(number("pid")) + "@" + std::to_string(second - number("uptime"));
  const std::lock_guard lock(mutex_);
  ticks_.saw(process, second, asked, answered);
  return {};
}

bool ServerTime::fresh() {
  const std::lock_guard lock(mutex_);
  return ticks_.fresh(BootClock::now());
}

Result<Moment> ServerTime::now(Connection& connection, TimePoint by) {
  if (!fresh()) return read_now(connection, by);
  {
    const std::lock_guard lock(mutex_);
    if (std::optional<Moment> moment = ticks_.at(BootClock::now())) return *std::move(moment);
  }
  return read_now(connection, by);
}

Result<Moment> ServerTime::read_now(Connection& connection, TimePoint by) {
  for (;;) {
    if (Status status = ask(connection, by); !status) return status.error();
    {
      const std::lock_guard lock(mutex_);
      if (std::optional<Moment> moment = ticks_.at(BootClock::now())) return *std::move(moment);
    }
    if (BootClock::now() + pause >= by) {
      return Error{Errc::unavailable,
                   "memcached: the server's clock did not move in time, so nobody knows what time "
                   "it is there; nothing was applied"};
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<Moment> ServerTime::about_now(Connection& connection, TimePoint by) {
  if (!fresh()) {
    if (Status status = ask(connection, by); !status) return status.error();
  }
  const std::lock_guard lock(mutex_);
  return ticks_.guess(BootClock::now());
}

Status ServerTime::refresh(Connection& connection, TimePoint by) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!ticks_.tick_is_old(BootClock::now())) return {};
    }
    if (BootClock::now() + pause >= by) return {};
    if (Status status = ask(connection, by); !status) return status.error();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace lockset::memcached
