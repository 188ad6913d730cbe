// A session with the server that carries holds (strategy=session). Unlike Connection it uses libpq
// without blocking: a call that is not answered in time leaves the session, and its holds, alive.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/postgresql/address.h"
#include "backends/postgresql/connection.h"
#include "backends/server/carrier.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::postgresql {

using server::LockKey;

// A prepared statement; `number` is its index among those of a session.
struct SessionStatement {
  std::size_t number;
  std::string name;
  std::string sql;
  int parameters;
};

// Used by one thread at a time, except where it says otherwise.
class Session final : public server::Carrier {
 public:
  using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;

  Session(const Options& options, std::unique_ptr<Connection> connection);

  // Sends the statement, and waits for its answer until `by`. An error that the server reports is
  // an Error; `late` and `broken` are told by outcome().
  Result<Rows> call(const SessionStatement& statement, std::span<const std::string> arguments,
                    Sent sent, TimePoint by);
  // Prepares what unlock() sends: it has to be sent even if there is no time to wait for answers.
  // REQUIRES: before any other call.
  Result<Rows> prepare_unlocks(TimePoint by);
  // The same without parameters and without preparing it.
  Result<Rows> run(const std::string& sql, Sent sent, TimePoint by);
  [[nodiscard]] Outcome outcome() const noexcept override { return outcome_; }

  // Sends without waiting; receive() waits. `also`: a descriptor that ends the wait, or -1.
  bool send(const SessionStatement& statement, std::span<const std::string> arguments,
            TimePoint by);
  Result<Rows> receive(Sent sent, TimePoint by, int also = -1);
  [[nodiscard]] bool owes() const noexcept override { return owes_; }

  // What the answer that is owed has to be followed by: if it grants, these keys are unlocked.
  void undo_when_answered(std::vector<LockKey> keys) { undo_ = std::move(keys); }
  bool settle(TimePoint by) override;
  bool unlock(std::span<const LockKey> keys, TimePoint by) override;
  bool end_after(Duration silence, TimePoint by) override;
  [[nodiscard]] bool hung_up() const noexcept override { return connection_->hung_up(); }
  [[nodiscard]] int fd() const noexcept override { return connection_->socket()->fd(); }
  [[nodiscard]] int pid() const noexcept { return pid_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] PGconn* raw() noexcept { return raw_; }
  void give_up() noexcept override;

 private:
  bool flush(TimePoint by);
  Result<Rows> fail(Sent sent, Outcome outcome, const std::string& said);

  const Options& options_;
  const std::unique_ptr<Connection> connection_;
  PGconn* const raw_;
  const int pid_;
  const std::string user_;
  std::vector<bool> prepared_;
  std::vector<LockKey> undo_;
  Outcome outcome_ = Outcome::answered;
  bool owes_ = false;
};

// Arguments of a statement.
std::string array_of_keys(std::span<const LockKey> keys);
std::string array_of_shared(std::span<const LockKey> keys);

}  // namespace lockset::postgresql
