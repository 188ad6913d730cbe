#include "backends/mysql/store.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "backends/mysql/doctor.h"
#include "backends/mysql/schema.h"

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
  const Result<bool> crowded = is_crowded(**connection, options_, by);
  if (!crowded) return crowded.error();
  crowded_ = *crowded;
  return connection;
}

Result<Store::Connections::Lease> Store::take(Lane lane, TimePoint by) {
  if (lane == Lane::common) return common_.take(by);
  // A second one is opened only while all others are busy: a process that holds or waits for one
  // lock gets by with one.
  for (Connections* const pool : {&reserved_, &common_}) {
    if (std::optional<Connections::Lease> idle = pool->take_idle()) return *std::move(idle);
  }
  Result<Connections::Lease> lease = reserved_.take(by);
  if (lease || !lease.error().retryable()) return lease;
  // Where the server takes no more of them, those that there are have to do.
  Result<Connections::Lease> other = common_.take(by);
  return other ? std::move(other) : std::move(lease);
}

Result<Answer> Store::ask(Connection& connection, const std::string& sql, Sent sent, TimePoint by,
                          Failure& failure) {
  Result<Answer> answer = connection.run(sql, sent, by, failure);
  if (!answer && takes_no_writes(failure.code)) {
    failure.error.code = Errc::unavailable;
    return failure.error;
  }
  return answer;
}

Status Store::check(TimePoint by) {
  // On a connection of its own: the pools' go on opening for longer than `by`.
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options_, watchdog_, std::min(by, BootClock::now() + options_.connect_timeout));
  if (!connection) return connection.error();
  if (Status safe = refuse_unsafe(**connection, options_, by); !safe) return safe;
  return check_schema(**connection, options_, by);
}

Result<Answer> Store::run(const std::string& sql, Sent sent, TimePoint by, Lane lane,
                          std::uint32_t* collisions) {
  // To read again does no harm, so a connection that broke need not be known to others.
  int readings = sent == Sent::reading ? 3 : 1;
  for (std::uint32_t tries = 1;; ++tries) {
    Result<Connections::Lease> lease = take(lane, by);
    if (!lease) {
      if (!lease.error().retryable() || --readings <= 0 || BootClock::now() >= by) {
        return lease.error();
      }
      continue;
    }
    Failure failure;
    Result<Answer> answer = ask(**lease, sql, sent, by, failure);
    if (answer) return answer;
    if (failure.broken) {
      lease->broken();
      if (--readings > 0 && BootClock::now() < by) continue;
      return answer;
    }
    if (!failure.repeat() || BootClock::now() >= by) return answer;
    if (collisions != nullptr) ++*collisions;
    { const Connections::Lease give_back = *std::move(lease); }
    pause_before(tries, by);
  }
}

Result<std::vector<Answer>> Store::run_together(const std::vector<std::string>& calls,
                                                TimePoint by) {
  Result<Connections::Lease> lease = common_.take(by);
  if (!lease) return lease.error();
  Failure failure;
  std::vector<Answer> answers;
  const auto run_one = [&](const std::string& sql, Sent sent) {
    Result<Answer> answer = ask(**lease, sql, sent, by, failure);
    if (answer) answers.push_back(*std::move(answer));
    return answers.size();
  };
  // Before the commit is sent nothing can have been applied.
  bool well = run_one("START TRANSACTION", Sent::reading) == 1;
  for (std::size_t i = 0; well && i < calls.size(); ++i) {
    well = run_one(calls[i], Sent::reading) == i + 2;
  }
  if (well && run_one("COMMIT", Sent::change) == calls.size() + 2) {
    return std::vector<Answer>(answers.begin() + 1, answers.end() - 1);
  }
  const Error why = failure.error;
  // Whether it is still there or not: without its connection the transaction ends.
  if (failure.broken || !(*lease)->run("ROLLBACK", Sent::reading, by, failure)) lease->broken();
  return why;
}

}  // namespace lockset::mysql
