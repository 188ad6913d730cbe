#include "backends/mysql/store.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "backends/mysql/schema.h"
#include "backends/mysql/settings.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;

// Two tries at once, then full jitter: those who collided must not meet again.
void pause_before(std::uint32_t next_try, TimePoint by) {
  if (next_try <= 2) return;
  thread_local std::minstd_rand random(std::random_device{}());
  const std::int64_t most_us = std::min<std::int64_t>(50'000, 500LL << std::min(next_try, 10U));
  std::uniform_int_distribution<std::int64_t> pause_us(0, most_us);
  std::this_thread::sleep_until(
      std::min(by, BootClock::now() + std::chrono::microseconds(pause_us(random))));
}

}  // namespace

Store::Store(Options options)
    : options_(std::move(options)),
      common_(
          options_.pool, [this] { return open_one(); }, options_.shown()),
      reserved_(
          1, [this] { return open_one(); }, options_.shown()) {}

Result<std::unique_ptr<Connection>> Store::open_one() {
  const TimePoint by = BootClock::now() + options_.connect_timeout;
  Result<std::unique_ptr<Connection>> connection = Connection::connect(options_, watchdog_, by);
  if (!connection) return connection;
  if (Status fit = refuse_replica(**connection, options_, by); !fit) return fit.error();
  return connection;
}

Status Store::check(TimePoint by) {
  // On a connection of its own: the pools' go on opening for longer than `by`.
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options_, watchdog_, std::min(by, BootClock::now() + options_.connect_timeout));
  if (!connection) return connection.error();
  if (Status safe = refuse_unsafe(**connection, options_, by); !safe) return safe;
  if (Status fits = check_schema(**connection, options_, by); !fits) return fits;
  // Opened ahead: a first renewal may be urgent. If it can't be now, it is later.
  static_cast<void>(reserved_.take(by).ok());
  return {};
}

Result<Answer> Store::run(const std::string& sql, Sent sent, TimePoint by, Lane lane,
                          std::uint32_t* collisions) {
  for (std::uint32_t tries = 1;; ++tries) {
    Result<Connections::Lease> lease = (lane == Lane::common ? common_ : reserved_).take(by);
    if (!lease) return lease.error();
    Failure failure;
    Result<Answer> answer = (*lease)->run(sql, sent, by, failure);
    if (answer) return answer;
    if (failure.broken) {
      lease->broken();
      return answer;
    }
    if (!failure.repeat() || BootClock::now() >= by) return answer;
    if (collisions != nullptr) ++*collisions;
    { const Connections::Lease give_back = *std::move(lease); }
    pause_before(tries, by);
  }
}

}  // namespace lockset::mysql
