#include "backends/postgresql/connection.h"

#include <libpq-fe.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/server/openssl_at_exit.h"
#include "core/shortage.h"

namespace lockset::postgresql {
namespace {

// The code in "FATAL:  28P01: password authentication failed": it stands there whatever the
// language.
std::string sqlstate_in(const std::string& verbose) {
  constexpr std::string_view before = ":  ";
  for (std::size_t at = 0; (at = verbose.find(before, at)) != std::string::npos; ++at) {
    const std::size_t begin = at + before.size();
    if (verbose.size() < begin + 6 || verbose[begin + 5] != ':') continue;
    std::string code = verbose.substr(begin, 5);
    const bool plain = std::all_of(code.begin(), code.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    });
    if (plain) return code;
  }
  return {};
}

struct RawConnection {
  Raw connection{nullptr, &PQfinish};
  std::string sqlstate;  // if there is no connection; so is `said`
  std::string said;
};

// Uses libpq itself: libpqxx can't end a connection attempt early, and it loses the code of a
// refusal, whose text is in the server's language.
RawConnection connect_raw(const std::string& conninfo, const server::Interrupt& interrupt,
                          TimePoint by) {
  server::keep_openssl_during_exit();
  RawConnection result;
  Raw raw(PQconnectStart(conninfo.c_str()), &PQfinish);
  if (!raw) {
    result.said = "out of memory";
    return result;
  }
  // The message then has the code.
  PQsetErrorVerbosity(raw.get(), PQERRORS_VERBOSE);
  PostgresPollingStatusType next =
      PQstatus(raw.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - BootClock::now()).count();
    std::array<pollfd, 2> look{
        pollfd{PQsocket(raw.get()),
               static_cast<short>(next == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0},
        pollfd{interrupt.fd(), POLLIN, 0}};
    const int look_for = static_cast<int>(std::min<std::int64_t>(left, 1'000'000));
    if (left > 0 && ::poll(look.data(), look.size(), look_for) < 0) continue;
    if (left <= 0 || look[1].revents != 0) {
      result.said = "no answer in time";
      return result;
    }
    if (look[0].revents != 0) next = PQconnectPoll(raw.get());
  }
  if (next == PGRES_POLLING_OK) {
    PQsetErrorVerbosity(raw.get(), PQERRORS_DEFAULT);
    result.connection = std::move(raw);
    return result;
  }
  result.said = PQerrorMessage(raw.get());
  result.sqlstate = PQconnectionNeedsPassword(raw.get()) != 0 ? "28P01" : sqlstate_in(result.said);
  // The place in the server's source does not help a user.
  if (const std::size_t at = result.said.find("\nLOCATION:"); at != std::string::npos) {
    result.said.erase(at);
  }
  return result;
}

// For some errors libpqxx 6 makes exceptions without a code.
std::string sqlstate_of(const std::exception& error) {
  const auto* sql = dynamic_cast<const WithSqlstate*>(&error);
  if (sql != nullptr && !sql->sqlstate().empty()) return std::string(sql->sqlstate());
  const auto is = [&]<class Kind>(const Kind*) {
    return dynamic_cast<const Kind*>(&error) != nullptr;
  };
  if (is(static_cast<const pqxx::serialization_failure*>(nullptr))) return "40001";
  if (is(static_cast<const pqxx::deadlock_detected*>(nullptr))) return "40P01";
  if (is(static_cast<const pqxx::insufficient_privilege*>(nullptr))) return "42501";
  if (is(static_cast<const pqxx::undefined_table*>(nullptr))) return "42P01";
  if (is(static_cast<const pqxx::undefined_function*>(nullptr))) return "42883";
  if (is(static_cast<const pqxx::syntax_error*>(nullptr))) return "42601";
  if (is(static_cast<const pqxx::disk_full*>(nullptr))) return "53100";
  if (is(static_cast<const ServerOutOfMemory*>(nullptr))) return "53200";
  if (is(static_cast<const pqxx::insufficient_resources*>(nullptr))) return "53000";
  if (is(static_cast<const pqxx::integrity_constraint_violation*>(nullptr))) return "23000";
  if (is(static_cast<const pqxx::data_exception*>(nullptr))) return "22000";
  return {};
}

}  // namespace

Connection::Connection(const Options& options, std::unique_ptr<Notices> notices,
                       std::unique_ptr<NativeConnection> connection, PGconn* raw,
                       std::unique_ptr<server::SocketWatchdog::Socket> socket)
    : options_(options),
      notices_(std::move(notices)),
      connection_(std::move(connection)),
      raw_(raw),
      quiet_(std::make_unique<Quiet>(*connection_)),
      socket_(std::move(socket)) {}

Connection::~Connection() {
  // This says goodbye to the server, which may not answer any more.
  const server::CallDeadline deadline(socket_.get(), BootClock::now() + std::chrono::seconds(1));
  quiet_.reset();
  connection_.reset();
}

Result<std::unique_ptr<Connection>> Connection::connect(const Options& options,
                                                        server::SocketWatchdog& watchdog,
                                                        const server::Interrupt& interrupt,
                                                        TimePoint by, Hosts hosts) {
  RawConnection raw;
  hosts.end = std::min(hosts.end, options.conninfos.size());
  std::size_t host = hosts.first;
  for (; host < hosts.end; ++host) {
    // If one host answers nothing, time is left for the next.
    const TimePoint now = BootClock::now();
    const auto share = static_cast<Duration::rep>(hosts.end - host);
    raw = connect_raw(options.conninfos[host], interrupt, now + (by - now) / share);
    if (raw.connection) break;
  }
  const std::string prefix = "PostgreSQL (" + options.shown + "): ";
  if (!raw.connection) {
    if (no_descriptor_left()) {
      return Error{Errc::unavailable, prefix + "can't connect: " + text_of_errno(EMFILE)};
    }
    return error_from(raw.sqlstate, raw.said, options.shown, Sent::nothing);
  }
  try {
    auto socket = watchdog.watch(PQsocket(raw.connection.get()));
    if (!socket) {
      return Error{Errc::unavailable, prefix + "can't connect: " + text_of_errno(EMFILE)};
    }
    auto notices = std::make_unique<Notices>();
    PGconn* const there = raw.connection.get();
    std::unique_ptr<NativeConnection> native;
    {
      const server::CallDeadline deadline(socket.get(), by);
      native = take_over(std::move(raw.connection));
    }
    notices->listen_to(there);
    std::unique_ptr<Connection> made(
        new Connection(options, std::move(notices), std::move(native), there, std::move(socket)));
    made->host_ = host;
    return made;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return error_from({}, error.what(), options.shown, Sent::nothing);
  }
}

void Connection::prepare(const Statement& statement) {
  if (prepared_.size() <= statement.number) prepared_.resize(statement.number + 1);
  if (prepared_[statement.number]) return;
  connection_->prepare(statement.name, statement.sql);
  prepared_[statement.number] = true;
}

Result<pqxx::result> Connection::run(const std::string& sql, Sent sent, TimePoint by,
                                     CallFailure& failure) {
  return guarded(sent, by, failure, [&] {
    pqxx::nontransaction work(*connection_);
    return work.exec(sql);
  });
}

std::string Connection::user() const {
  const char* const name = connection_->username();
  return name != nullptr ? name : "";
}

bool Connection::hung_up() const noexcept { return socket_->hung_up(); }

CallFailure Connection::failed(const std::exception& error, Sent sent) const {
  CallFailure failure;
  failure.sqlstate = sqlstate_of(error);
  failure.said = error.what();
  const bool lost = failure.sqlstate.empty() || failure.sqlstate.starts_with("57P") ||
                    failure.sqlstate.starts_with("08");
  failure.broken = lost || !connection_->is_open();
  failure.error = error_from(failure.sqlstate, error.what(), options_.shown, sent);
  return failure;
}

CallFailure Connection::exiting() const {
  CallFailure failure;
  failure.broken = true;
  failure.error = {Errc::unavailable, "PostgreSQL (" + options_.shown +
                                          "): the process is exiting, and its client library "
                                          "(libpqxx 6) can't be used any more"};
  return failure;
}

CallFailure Connection::in_doubt(Sent sent) const {
  CallFailure failure;
  failure.error = {sent == Sent::change ? Errc::indeterminate : Errc::unavailable,
                   "PostgreSQL (" + options_.shown +
                       "): the wait for a synchronous standby was broken off: this is committed "
                       "here, and a failover may forget it"};
  return failure;
}

}  // namespace lockset::postgresql
