#include "backends/postgresql/session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/postgresql/errors.h"
#include "backends/postgresql/exit_guard.h"

namespace lockset::postgresql {
namespace {

const SessionStatement unlock_one{0, "unlock", "SELECT pg_advisory_unlock($1::int8)", 1};
const SessionStatement unlock_shared{1, "unlock_shared",
                                     "SELECT pg_advisory_unlock_shared($1::int8)", 1};
const SessionStatement unlock_all{
    2, "unlock_all",
    "SELECT count(CASE WHEN s THEN pg_advisory_unlock_shared(k) ELSE pg_advisory_unlock(k) END) "
    "FROM unnest($1::int8[], $2::bool[]) u(k, s)",
    2};

// Commits of a session write nothing that a crash must not forget: every hold ends with the server,
// and the stamps are raised to the clock again (session_acquire.sql).
//
// The server's side of a session: it is ended when nothing was heard over it for `bound`, whether
// its client stands still (idle_session_timeout) or the network swallows everything (TCP).
std::string bound_sql(Duration bound) {
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(bound).count();
  // Probes begin early enough for TCP to notice by the bound, and never end it sooner.
  const std::int64_t idle = std::max<std::int64_t>(1, ms / 3000);
  const auto set = [](std::string_view name, std::int64_t value) {
    return "set_config('" + std::string(name) + "','" + std::to_string(value) + "',false)";
  };
  return "SELECT " + set("idle_session_timeout", ms) + "," + set("tcp_user_timeout", ms) + "," +
         set("tcp_keepalives_idle", idle) + "," + set("tcp_keepalives_interval", idle) + "," +
         set("tcp_keepalives_count", 9) + "," + set("lock_timeout", 0) + "," +
         set("statement_timeout", 0) + ",set_config('synchronous_commit','off',false)";
}

}  // namespace

Session::Session(const Options& options, std::unique_ptr<Connection> connection)
    : options_(options),
      connection_(std::move(connection)),
      raw_(connection_->raw()),
      pid_(PQbackendPID(raw_)),
      user_(connection_->user()) {
  PQsetnonblocking(raw_, 1);
}

void Session::give_up() noexcept { outcome_ = Outcome::broken; }

Result<Session::Rows> Session::fail(Sent sent, Outcome outcome, const std::string& said) {
  outcome_ = outcome;
  return error_from({}, said, options_.shown, sent);
}

bool Session::flush(TimePoint by) {
  for (;;) {
    const int left = PQflush(raw_);
    if (left == 0) return true;
    if (left < 0) return false;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(by - BootClock::now()).count();
    if (wait <= 0) return false;
    // What the server sends meanwhile has to be read, or neither side goes on.
    pollfd look{fd(), POLLIN | POLLOUT, 0};
    if (::poll(&look, 1, static_cast<int>(std::min<std::int64_t>(wait, 60'000))) < 0) continue;
    if ((look.revents & POLLIN) != 0 && PQconsumeInput(raw_) == 0) return false;
  }
}

bool Session::send(const SessionStatement& statement, std::span<const std::string> arguments,
                   TimePoint by) {
  if (outcome_ == Outcome::broken || !LibraryCall().may_begin() || !settle(by)) return false;
  // One number space with the statements above.
  const std::size_t index = statement.number;
  if (prepared_.size() <= index) prepared_.resize(index + 1);
  if (!prepared_[index]) {
    owes_ = PQsendPrepare(raw_, statement.name.c_str(), statement.sql.c_str(), 0, nullptr) == 1;
    if (!owes_ || !flush(by)) {
      outcome_ = Outcome::broken;
      return false;
    }
    const Result<Rows> done = receive(Sent::reading, by);
    if (!done && outcome_ != Outcome::answered) return false;
    // If it was refused, it was prepared before, by a call that did not wait for the answer.
    prepared_[index] = true;
  }
  std::array<const char*, 16> values{};
  for (std::size_t i = 0; i < arguments.size() && i < values.size(); ++i) {
    values[i] = arguments[i].c_str();
  }
  owes_ = PQsendQueryPrepared(raw_, statement.name.c_str(), statement.parameters, values.data(),
                              nullptr, nullptr, 0) == 1;
  if (!owes_ || !flush(by)) {
    // A request that was sent in part makes the session useless.
    outcome_ = Outcome::broken;
    return false;
  }
  return true;
}

Result<Session::Rows> Session::receive(Sent sent, TimePoint by, int also) {
  Rows rows(nullptr, &PQclear);
  for (;;) {
    while (PQisBusy(raw_) == 0) {
      Rows next(PQgetResult(raw_), &PQclear);
      if (next) {
        rows = std::move(next);
        continue;
      }
      owes_ = false;
      if (!rows) return fail(sent, Outcome::broken, "no answer");
      const ExecStatusType status = PQresultStatus(rows.get());
      if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        outcome_ = Outcome::answered;
        return rows;
      }
      const char* const code = PQresultErrorField(rows.get(), PG_DIAG_SQLSTATE);
      const std::string sqlstate = code != nullptr ? code : "";
      const bool over = sqlstate.empty() || sqlstate.starts_with("57P") ||
                        sqlstate.starts_with("08") || PQstatus(raw_) != CONNECTION_OK;
      outcome_ = over ? Outcome::broken : Outcome::answered;
      Error error = error_from(over ? std::string() : sqlstate, PQresultErrorMessage(rows.get()),
                               options_.shown, sent);
      return error;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(by - BootClock::now()).count();
    // Even a caller without time gets an answer that has arrived.
    std::array<pollfd, 2> look{pollfd{fd(), POLLIN, 0}, pollfd{also, POLLIN, 0}};
    const int most = static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
    const int ready = ::poll(look.data(), look.size(), most);
    if (ready < 0 && errno == EINTR) continue;
    if (look[0].revents == 0 && (wait <= 0 || look[1].revents != 0)) {
      return fail(sent, Outcome::late, "no answer in time");
    }
    if (look[0].revents != 0 && PQconsumeInput(raw_) == 0) {
      owes_ = false;
      return fail(sent, Outcome::broken, PQerrorMessage(raw_));
    }
  }
}

bool Session::settle(TimePoint by) {
  if (!owes_) return true;
  const Result<Rows> answer = receive(Sent::reading, by);
  if (!answer && outcome_ != Outcome::answered) return false;
  std::vector<LockKey> undo = std::exchange(undo_, {});
  if (!answer || undo.empty()) return true;
  const bool granted = PQntuples(answer->get()) == 1 && PQnfields(answer->get()) == 1 &&
                       PQgetvalue(answer->get(), 0, 0)[0] == 'G';
  return !granted || unlock(undo, by);
}

Result<Session::Rows> Session::call(const SessionStatement& statement,
                                    std::span<const std::string> arguments, Sent sent,
                                    TimePoint by) {
  if (!send(statement, arguments, by)) {
    // Nothing of this call was sent, or not all of it.
    if (outcome_ == Outcome::answered) outcome_ = Outcome::late;
    return error_from({}, "no answer in time", options_.shown, Sent::reading);
  }
  return receive(sent, by);
}

Result<Session::Rows> Session::run(const std::string& sql, Sent sent, TimePoint by) {
  if (outcome_ == Outcome::broken || !settle(by)) {
    return error_from({}, "no answer in time", options_.shown, Sent::reading);
  }
  owes_ = PQsendQuery(raw_, sql.c_str()) == 1;
  if (!owes_ || !flush(by)) return fail(Sent::reading, Outcome::broken, PQerrorMessage(raw_));
  return receive(sent, by);
}

Result<Session::Rows> Session::prepare_unlocks(TimePoint by) {
  Result<Rows> done =
      run("PREPARE unlock(int8) AS " + unlock_one.sql + "; PREPARE unlock_shared(int8) AS " +
              unlock_shared.sql + "; PREPARE unlock_all(int8[], bool[]) AS " + unlock_all.sql,
          Sent::reading, by);
  if (done) prepared_.assign(3, true);
  return done;
}

bool Session::end_after(Duration silence, TimePoint by) {
  return run(bound_sql(silence), Sent::reading, by).ok();
}

bool Session::unlock(std::span<const LockKey> keys, TimePoint by) {
  if (keys.empty()) return true;
  const std::array<std::string, 2> arguments{array_of_keys(keys), array_of_shared(keys)};
  const std::string key = std::to_string(keys.front().key);
  const auto ask = [&] {
    if (keys.size() > 1) return call(unlock_all, arguments, Sent::change, by).ok();
    const SessionStatement& one = keys.front().shared ? unlock_shared : unlock_one;
    return call(one, {&key, 1}, Sent::change, by).ok();
  };
  // Somebody may have it cancelled. What was unlocked by then is not unlocked twice.
  for (int tries = 0; tries < 3; ++tries) {
    if (ask()) return true;
    if (outcome_ != Outcome::answered) return false;
  }
  give_up();
  return false;
}

std::string array_of_keys(std::span<const LockKey> keys) {
  std::string text = "{";
  for (const LockKey& key : keys) {
    if (text.size() > 1) text += ',';
    text += std::to_string(key.key);
  }
  return text + "}";
}

std::string array_of_shared(std::span<const LockKey> keys) {
  std::string text = "{";
  for (const LockKey& key : keys) {
    if (text.size() > 1) text += ',';
    text += key.shared ? 't' : 'f';
  }
  return text + "}";
}

}  // namespace lockset::postgresql
