#include "backends/redis/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "backends/redis/open_socket.h"
#include "backends/redis/tls.h"
#include "backends/server/sigpipe_guard.h"

namespace lockset::redis {

namespace {

// A command as it is sent. hiredis would use a format string for each word.
std::string wire_form(const Command& command) {
  constexpr std::size_t most_digits = 20;
  std::size_t size = most_digits + 3;
  for (const std::string_view word : command) size += word.size() + most_digits + 5;
  std::string text;
  text.reserve(size);
  const auto add = [&text](char kind, std::size_t number) {
    char digits[most_digits];
    text += kind;
    text.append(digits, std::to_chars(digits, digits + most_digits, number).ptr);
    text += "\r\n";
  };
  add('*', command.size());
  for (const std::string_view word : command) {
    add('$', word.size());
    text += word;
    text += "\r\n";
  }
  return text;
}

}  // namespace

std::string mode_of(std::string_view info) {
  std::string mode = info_field(info, "redis_mode");
  return mode.empty() ? info_field(info, "server_mode") : mode;
}

std::string info_field(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    std::size_t end = info.find('\n', at);
    if (end == std::string_view::npos) end = info.size();
    std::string_view line = info.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return {};
}

Connection::Connection(const Options& options, Context context,
                       std::unique_ptr<server::SocketWatchdog::Socket> socket)
    : options_(options), context_(std::move(context)), socket_(std::move(socket)) {}

Connection::~Connection() {
  socket_.reset();
  context_.reset();
}

Result<std::unique_ptr<Connection>> Connection::connect(const Options& options,
                                                        server::SocketWatchdog& watchdog,
                                                        TimePoint by) {
  const Result<int> fd = open_socket(options, by);
  if (!fd) return fd.error();
  Context context(::redisConnectFd(*fd));
  if (!context) {
    ::close(*fd);
    throw std::bad_alloc();
  }
  auto socket = watchdog.watch(*fd);
  if (!socket)
    return Error{Errc::unavailable, options.shown() + ": no descriptor or thread is left"};
  std::unique_ptr<Connection> connection(
      new Connection(options, std::move(context), std::move(socket)));
  if (options.tls) {
    server::CallDeadline deadline(connection->socket_.get(), by);
    Status status = start_tls(*connection->context_, options);
    if (!status) return status.error();
    connection->tls_ = true;
  }
  if (Status status = connection->log_in(by); !status) {
    Error error = status.error();
    if (connection->broken_) {
      error.message += ": does a Redis server listen there, " +
                       std::string(options.tls ? "with TLS?" : "and without TLS (else rediss:)?");
    }
    return error;
  }
  return connection;
}

Status Connection::log_in(TimePoint by) {
  std::vector<Command> commands;
  if (!options_.password.empty()) {
    commands.push_back({"AUTH"});
    if (!options_.user.empty()) commands.back().push_back(options_.user);
    commands.back().push_back(options_.password);
  }
  const std::string number = std::to_string(options_.database);
  if (options_.database != 0) commands.push_back({"SELECT", number});
  // For people who look at CLIENT LIST; servers that forbid it go without a name.
  const std::size_t naming = commands.size();
  commands.push_back({"CLIENT", "SETNAME", "lockset"});
  commands.push_back({"INFO"});
  // All are sent at once: a renewal that has lost its connection has no time for several round
  // trips on a slow network.
  std::string wire;
  for (const Command& command : commands) wire += wire_form(command);
  {
    server::CallDeadline deadline(socket_.get(), by);
    const server::SigpipeGuard guard(tls_);
    bool all = false;
    if (!write(wire, all)) return failed(Sent::nothing, deadline.end());
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    server::CallDeadline deadline(socket_.get(), by);
    const server::SigpipeGuard guard(tls_);
    const Result<Reply> reply = answer(Sent::nothing, deadline);
    if (!reply) return reply.error();
    if (reply->is_error() && i != naming) {
      if (options_.is_sentinel() && reply->text().starts_with("NOAUTH")) {
        return Error{Errc::misconfigured, options_.shown() +
                                              ": wants a password, which is another one than the "
                                              "primary's: give it in sentinel_password_file or in "
                                              "REDISCLI_SENTINEL_AUTH"};
      }
      return refused(reply->text(), options_.shown(), Sent::nothing);
    }
    if (i + 1 == commands.size()) info_ = reply->text();
  }
  run_id_ = info_field(info_, "run_id");
  if (run_id_.empty()) {
    return Error{Errc::misconfigured,
                 options_.shown() + ": INFO tells no run_id, by which a restart is noticed"};
  }
  return {};
}

bool Connection::write(const std::string& wire, bool& all) {
  all = true;
  if (tls_) {
    // The library encrypts and sends it when the answer is read.
    return ::redisAppendFormattedCommand(context_.get(), wire.data(), wire.size()) == REDIS_OK;
  }
  std::size_t sent = 0;
  while (sent < wire.size()) {
    const ssize_t count =
        ::send(context_->fd, wire.data() + sent, wire.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      all = false;  // without its end, the server can't have read it as a command
      return false;
    }
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

Error Connection::failed(Sent sent, bool late) {
  const std::string system = std::system_category().message(errno);
  broken_ = true;
  const std::string why = late                 ? "no answer in time"
                          : context_->err != 0 ? context_->errstr
                                               : system;
  return no_answer(sent, options_.shown(), " (" + why + ")");
}

Result<Reply> Connection::call(const Command& command, Sent sent, TimePoint by) {
  if (broken_) return failed(Sent::nothing, false);
  server::CallDeadline deadline(socket_.get(), by);
  const server::SigpipeGuard guard(tls_);
  bool all = false;
  if (!write(wire_form(command), all)) return failed(all ? sent : Sent::nothing, deadline.end());
  return answer(sent, deadline);
}

Result<std::vector<Reply>> Connection::call_all(const std::vector<Command>& commands, Sent sent,
                                                TimePoint by) {
  if (broken_) return failed(Sent::nothing, false);
  server::CallDeadline deadline(socket_.get(), by);
  const server::SigpipeGuard guard(tls_);
  std::string wire;
  for (const Command& command : commands) wire += wire_form(command);
  bool all = false;
  if (!write(wire, all)) return failed(sent, deadline.end());  // some may have arrived
  std::vector<Reply> replies;
  while (replies.size() < commands.size()) {
    void* reply = nullptr;
    if (::redisGetReply(context_.get(), &reply) != REDIS_OK) return failed(sent, deadline.end());
    replies.emplace_back(reply);
  }
  if (deadline.end()) broken_ = true;
  return replies;
}

Result<Reply> Connection::answer(Sent sent, server::CallDeadline& deadline) {
  void* reply = nullptr;
  if (::redisGetReply(context_.get(), &reply) != REDIS_OK) return failed(sent, deadline.end());
  Reply answer(reply);
  // The server shut the connection down just after the answer: this answer is good, but no further
  // one.
  if (deadline.end()) broken_ = true;
  return answer;
}

Result<Reply> Connection::ask(const Command& command, Sent sent, TimePoint by) {
  Result<Reply> reply = call(command, sent, by);
  if (reply && reply->is_error()) return refused(reply->text(), options_.shown(), sent);
  return reply;
}

Status Connection::send(const Command& command, TimePoint by) {
  server::CallDeadline deadline(socket_.get(), by);
  const server::SigpipeGuard guard(tls_);
  bool all = false;
  if (!write(wire_form(command), all)) return failed(Sent::nothing, deadline.end());
  int done = 0;
  while (tls_ && done == 0) {
    if (::redisBufferWrite(context_.get(), &done) != REDIS_OK) {
      return failed(Sent::nothing, deadline.end());
    }
  }
  return {};
}

Result<Reply> Connection::received(bool read) {
  if (read && ::redisBufferRead(context_.get()) != REDIS_OK) return failed(Sent::reading, false);
  void* reply = nullptr;
  if (::redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) {
    return failed(Sent::reading, false);
  }
  return Reply(reply);
}

}  // namespace lockset::redis
