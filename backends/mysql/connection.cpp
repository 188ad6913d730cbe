#include "backends/mysql/connection.h"

#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <fcntl.h>
#include <mysql_connection.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "backends/mysql/native_connection.h"
#include "backends/mysql/socket_finder.h"
#include "backends/server/sigpipe_guard.h"
#include "core/shortage.h"

namespace lockset::mysql {
namespace {

// Reads the rest of an answer, so that the next call finds a clean connection.
Reply read_answer(sql::Statement& statement, bool has_rows) {
  Reply answer;
  bool first = true;
  for (;;) {
    if (has_rows) {
      const std::unique_ptr<sql::ResultSet> set(statement.getResultSet());
      const unsigned columns = set ? set->getMetaData()->getColumnCount() : 0;
      while (set && set->next()) {
        if (!first) continue;
        Reply::Row& row = answer.rows.emplace_back();
        row.reserve(columns);
        for (unsigned i = 1; i <= columns; ++i) {
          const sql::SQLString value = set->getString(i);
          if (set->wasNull()) {
            row.emplace_back();
          } else {
            row.emplace_back(value.asStdString());
          }
        }
      }
      first = false;
    } else {
      const std::uint64_t count = statement.getUpdateCount();
      if (count == static_cast<std::uint64_t>(-1)) return answer;
      answer.affected = count;
    }
    has_rows = statement.getMoreResults();
  }
}

}  // namespace

const std::string& Reply::text(std::size_t column, std::size_t row) const {
  static const std::string none;
  const std::optional<std::string>& value = rows.at(row).at(column);
  return value ? *value : none;
}

std::int64_t Reply::number(std::size_t column, std::size_t row) const {
  return optional_number(column, row).value_or(0);
}

std::optional<std::int64_t> Reply::optional_number(std::size_t column, std::size_t row) const {
  const std::optional<std::string>& value = rows.at(row).at(column);
  std::int64_t number = 0;
  if (!value) return {};
  std::from_chars(value->data(), value->data() + value->size(), number);
  return number;
}

Connection::Connection(const Options& options, std::unique_ptr<sql::Connection> native)
    : options_(options), where_(options.shown()), native_(std::move(native)) {}

Connection::~Connection() {
  const server::SigpipeGuard guard(may_encrypt(options_));
  try {
    native_.reset();
  } catch (...) {  // a connection that can't even be closed: there is nothing left to do
  }
}

Result<std::unique_ptr<Connection>> Connection::connect(const Options& options,
                                                        server::SocketWatchdog& watchdog,
                                                        TimePoint by) {
  const server::SigpipeGuard guard(may_encrypt(options));
  const std::string where = options.shown();
  try {
    use_thread();
    const SocketFinder finder(options.host, options.port, options.socket, by);
    if (!finder.has_turn()) {
      return error_from(0, "another attempt to connect there hangs", where, Sent::nothing);
    }
    std::unique_ptr<Connection> connection(new Connection(options, connect_natively(options, by)));
    const std::vector<int> candidates = finder.candidates();
    if (candidates.size() == 1) connection->use_socket(candidates.front(), watchdog);
    if (Status status = connection->set_up(by); !status) return status.error();
    if (candidates.size() > 1) {
      // The server knows our port, unless there is a proxy between.
      CallFailure failure;
      const Result<Reply> seen = connection->run(
          "SELECT SUBSTRING_INDEX(host, ':', -1) FROM information_schema.processlist "
          "WHERE id = CONNECTION_ID()",
          Sent::reading, by, failure);
      if (seen && seen->rows.size() == 1) {
        const auto port = static_cast<std::uint16_t>(seen->number(0));
        if (const auto fd = SocketFinder::with_local_port(candidates, port)) {
          connection->use_socket(*fd, watchdog);
        }
      }
    }
    return connection;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const sql::SQLException& error) {
    // The library then can't load its plugins, and reports a refused login.
    if (no_descriptor_left()) {
      return Error{Errc::unavailable, where + ": can't connect: " + text_of_errno(EMFILE)};
    }
    return error_from(error.getErrorCode(), error.what(), where, Sent::nothing);
  } catch (const std::exception& error) {
    return error_from(0, error.what(), where, Sent::nothing);
  }
}

void Connection::use_socket(int fd, server::SocketWatchdog& watchdog) {
  // The library lets child programs inherit the socket: they would be logged in.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  socket_ = watchdog.watch(fd);
}

// The settings that the client library could not send at once: the connector sets REPEATABLE READ
// after it has connected.
Status Connection::set_up(TimePoint by) {
  CallFailure failure;
  const Result<Reply> level =
      run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", Sent::reading, by, failure);
  if (!level) return level.error();
  if (options_.ssl_mode >= SslMode::required) {
    const Result<Reply> cipher =
        run("SHOW SESSION STATUS LIKE 'Ssl_cipher'", Sent::reading, by, failure);
    if (!cipher) return cipher.error();
    if (cipher->rows.empty() || cipher->text(1).empty()) return not_encrypted(where_);
  }
  return {};
}

Result<Reply> Connection::run(const std::string& sql, Sent sent, TimePoint by,
                              CallFailure& failure) {
  const server::SigpipeGuard guard(may_encrypt(options_));
  try {
    use_thread();
    server::CallDeadline deadline(socket_.get(), by);
    const std::unique_ptr<sql::Statement> statement(native_->createStatement());
    const bool has_rows = statement->execute(sql);
    return read_answer(*statement, has_rows);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    failure = failed(error, sent);
    return failure.error;
  }
}

CallFailure Connection::failed(const std::exception& error, Sent sent) const {
  const auto* native = dynamic_cast<const sql::SQLException*>(&error);
  const int code = native != nullptr ? native->getErrorCode() : 0;
  Error told = error_from(code, error.what(), where_, sent);
  // If the outcome is unknown, a transaction may be open still, and the next call would commit it.
  const bool broken = breaks_connection(code) || told.code == Errc::indeterminate;
  return CallFailure{std::move(told), code, broken};
}

void Connection::cut() const noexcept {
  if (socket_ != nullptr) ::shutdown(socket_->fd(), SHUT_RDWR);
}

bool Connection::hung_up() const noexcept { return socket_ != nullptr && socket_->hung_up(); }

}  // namespace lockset::mysql
