// A connection to the server, set up for Lockset, with a deadline on each call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "backends/postgresql/address.h"
#include "backends/postgresql/errors.h"
#include "backends/postgresql/exit_guard.h"
#include "backends/postgresql/native_connection.h"
#include "backends/postgresql/notices.h"
#include "backends/postgresql/pqxx_versions.h"
#include "backends/server/interrupt.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::postgresql {

// One call of a function of the space: "SELECT "locks"."release_v1"($1,$2)".
struct Statement {
  std::size_t number;  // its index among a connection's prepared statements
  std::string name;
  std::string sql;
  Sent sent;
  Role role;  // the role that may call it
};

enum class Isolation { read_committed, serializable };

// Why a call failed; `repeat`: nothing was applied, and the same call may succeed if repeated.
struct CallFailure {
  Error error;
  std::string sqlstate;
  std::string said;     // by the server or libpq
  bool broken = false;  // the connection is useless now
  [[nodiscard]] bool repeat() const noexcept { return worth_repeating(sqlstate); }
};

// Used by one thread at a time.
class Connection {
 public:
  // Which of the address's hosts to try, by their place in Options::conninfos.
  struct Hosts {
    std::size_t first = 0;
    std::size_t end = static_cast<std::size_t>(-1);
  };
  // Connects to the first of these hosts that it can, without looking at the space, by `by` or
  // until the interrupt. Only the look-up of the host's name can't be ended.
  static Result<std::unique_ptr<Connection>> connect(const Options& options,
                                                     server::SocketWatchdog& watchdog,
                                                     const server::Interrupt& interrupt,
                                                     TimePoint by, Hosts hosts);
  static Result<std::unique_ptr<Connection>> connect(const Options& options,
                                                     server::SocketWatchdog& watchdog,
                                                     const server::Interrupt& interrupt,
                                                     TimePoint by) {
    return connect(options, watchdog, interrupt, by, Hosts{});
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // One round trip; the first use of a statement on a connection takes one more to prepare it,
  // unless there is a pooler.
  template <class... Args>
  Result<pqxx::result> call(const Statement& statement, Isolation isolation, TimePoint by,
                            CallFailure& failure, const Args&... args) {
    Result<pqxx::result> answer = guarded(statement.sent, by, failure, [&]() -> pqxx::result {
      if (!options_.pooler) {
        prepare(statement);
        pqxx::nontransaction work(*connection_);
        return run_prepared(work, statement.name, args...);
      }
      if (isolation == Isolation::serializable) {
        // There is no session to keep the level: begin, work and commit, three round trips.
        pqxx::transaction<pqxx::isolation_level::serializable> work(*connection_);
        pqxx::result result = run_with(work, statement.sql, args...);
        work.commit();
        return result;
      }
      pqxx::nontransaction work(*connection_);
      return run_with(work, statement.sql, args...);
    });
    if (!answer && failure.sqlstate == sqlstate_read_only) {
      // It was writable when the store was opened: a failover is under way. If the address leads to
      // the primary, the next connection reaches it.
      failure.error.code = Errc::unavailable;
      failure.broken = true;
      return failure.error;
    }
    return answer;
  }

  // Runs statements without parameters; returns the last one's result.
  Result<pqxx::result> run(const std::string& sql, Sent sent, TimePoint by, CallFailure& failure);

  [[nodiscard]] bool hung_up() const noexcept;
  // The host that it leads to.
  [[nodiscard]] std::size_t host() const noexcept { return host_; }
  // The user that is logged in.
  [[nodiscard]] std::string user() const;
  [[nodiscard]] NativeConnection& native() noexcept { return *connection_; }
  [[nodiscard]] server::SocketWatchdog::Socket* socket() noexcept { return socket_.get(); }
  // For calls that libpqxx has not: a caller that uses it makes no call of libpqxx any more.
  [[nodiscard]] PGconn* raw() noexcept { return raw_; }

 private:
  Connection(const Options& options, std::unique_ptr<Notices> notices,
             std::unique_ptr<NativeConnection> connection, PGconn* raw,
             std::unique_ptr<server::SocketWatchdog::Socket> socket);

  void prepare(const Statement& statement);
  // Runs `work` under the deadline and turns exceptions into errors.
  template <class Work>
  Result<pqxx::result> guarded(Sent sent, TimePoint by, CallFailure& failure, Work work) {
    const LibraryCall call;
    if (!call.may_begin()) {
      failure = exiting();
      return failure.error;
    }
    try {
      server::CallDeadline deadline(socket_.get(), by);
      notices_->begin();
      pqxx::result result = work();
      LibraryCall::got_result();
      if (!notices_->local_only()) return result;
      failure = in_doubt(sent);
      return failure.error;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      failure = failed(error, sent);
      return failure.error;
    }
  }
  [[nodiscard]] CallFailure failed(const std::exception& error, Sent sent) const;
  [[nodiscard]] CallFailure exiting() const;
  // Committed here, and perhaps nowhere else.
  [[nodiscard]] CallFailure in_doubt(Sent sent) const;

  const Options& options_;
  std::size_t host_ = 0;
  std::unique_ptr<Notices> notices_;  // outlives the connection
  std::unique_ptr<NativeConnection> connection_;
  PGconn* const raw_;             // belongs to connection_
  std::unique_ptr<Quiet> quiet_;  // otherwise libpqxx prints notices
  std::unique_ptr<server::SocketWatchdog::Socket> socket_;
  std::vector<bool> prepared_;
};

}  // namespace lockset::postgresql
