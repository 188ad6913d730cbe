#include "backends/mysql/store.h"

#include <algorithm>
#include <utility>

#include "backends/mysql/doctor.h"
#include "backends/mysql/schema.h"
#include "backends/server/retry.h"

namespace lockset::mysql {

Store::Store(Options options)
    : options_(std::move(options)),
      lanes_(
          options_.pool, [this] { return connect(BootClock::now() + options_.connect_timeout); },
          options_.shown()) {}

Result<std::unique_ptr<Connection>> Store::connect(TimePoint by) {
  Result<std::unique_ptr<Connection>> connection = Connection::connect(options_, watchdog_, by);
  if (!connection) return connection;
  const Result<bool> crowded = is_crowded(**connection, options_, by);
  if (!crowded) return crowded.error();
  crowded_ = *crowded;
  return connection;
}

Status Store::connect_for_waiting(TimePoint by) {
  const Result<Lanes::Lease> one = lanes_.common.take(by);
  return one ? Status() : one.error();
}

Status Store::look_for_room(Connection& connection, TimePoint by) {
  const Result<bool> crowded = is_crowded(connection, options_, by);
  if (!crowded) return crowded.error();
  crowded_ = *crowded;
  if (*crowded) close_idle(1);
  return {};
}

Result<Reply> Store::ask(Connection& connection, const std::string& sql, Sent sent, TimePoint by,
                         CallFailure& failure) {
  Result<Reply> answer = connection.run(sql, sent, by, failure);
  if (!answer && takes_no_writes(failure.code)) {
    failure.error.code = Errc::unavailable;
    return failure.error;
  }
  return answer;
}

Status Store::check(TimePoint by) {
  // On a connection of its own: opening one of the pools may take longer than `by`.
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options_, watchdog_, std::min(by, BootClock::now() + options_.connect_timeout));
  if (!connection) return connection.error();
  if (Status safe = refuse_unsafe(**connection, options_, by); !safe) return safe;
  return check_schema(**connection, options_, by);
}

Result<Reply> Store::run(const std::string& sql, Sent sent, TimePoint by, Lane lane,
                         std::uint32_t* collisions) {
  return server::call_with_retries(
      sent, by, [&] { return lanes_.take(lane, by); },
      [&](Lanes::Lease& lease, server::Attempt& attempt) {
        CallFailure failure;
        Result<Reply> answer = ask(*lease, sql, sent, by, failure);
        if (answer) return answer;
        if (failure.broken) {
          attempt = server::Attempt::broken;
        } else if (failure.repeat()) {
          attempt = server::Attempt::collided;
          if (collisions != nullptr) ++*collisions;
        }
        return answer;
      });
}

Result<std::vector<Reply>> Store::run_together(const std::vector<std::string>& calls,
                                               TimePoint by) {
  Result<Lanes::Lease> lease = lanes_.common.take(by);
  if (!lease) return lease.error();
  CallFailure failure;
  std::vector<Reply> answers;
  const auto run_one = [&](const std::string& sql, Sent sent) {
    Result<Reply> answer = ask(**lease, sql, sent, by, failure);
    if (answer) answers.push_back(*std::move(answer));
    return answers.size();
  };
  // Nothing can have been applied before the commit is sent.
  bool well = run_one("START TRANSACTION", Sent::reading) == 1;
  for (std::size_t i = 0; well && i < calls.size(); ++i) {
    well = run_one(calls[i], Sent::reading) == i + 2;
  }
  if (well && run_one("COMMIT", Sent::change) == calls.size() + 2) {
    return std::vector<Reply>(answers.begin() + 1, answers.end() - 1);
  }
  const Error why = failure.error;
  // Without its connection the transaction ends, whether it still exists or not.
  if (failure.broken || !(*lease)->run("ROLLBACK", Sent::reading, by, failure)) lease->broken();
  return why;
}

}  // namespace lockset::mysql
