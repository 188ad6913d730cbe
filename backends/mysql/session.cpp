#include "backends/mysql/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "backends/mysql/errors.h"
#include "backends/mysql/native_connection.h"
#include "backends/server/openssl_at_exit.h"
#include "backends/server/sigpipe_guard.h"
#include "backends/text_hash.h"
#include "core/shortage.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int no_tls = 2026;
// How long the goodbye of a session that still has an answer to come may take.
constexpr milliseconds to_end{100};

const SessionStatement unlock_one{0, "SELECT RELEASE_LOCK(?)"};

std::string hex(std::int64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(number));  // NOLINT
  return text.data();
}

int until(TimePoint by) {
  const auto wait = std::chrono::ceil<milliseconds>(by - BootClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
}

short events_for(int waits_for) {
  return static_cast<short>(((waits_for & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                            ((waits_for & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                            ((waits_for & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0));
}

int events_of(short ready) {
  // An error shows at the next read or write.
  const bool over = (ready & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  return ((ready & POLLIN) != 0 || over ? MYSQL_WAIT_READ : 0) |
         ((ready & POLLOUT) != 0 || over ? MYSQL_WAIT_WRITE : 0) |
         ((ready & POLLPRI) != 0 ? MYSQL_WAIT_EXCEPT : 0);
}

void set_text(MYSQL* raw, mysql_option option, const std::string& text) {
  if (!text.empty()) mysql_optionsv(raw, option, text.c_str());
}

// Stands around calls of the library.
class LibraryCall {
 public:
  explicit LibraryCall(bool encrypts) : guard_(encrypts) {
    // What another connection has left in this thread would be taken for an error of this one.
    if (encrypts) server::forget_openssl_errors();
  }

 private:
  const server::SigpipeGuard guard_;
};

}  // namespace

std::int64_t LockNames::key(std::string_view name) const {
  std::string text = prefix_;
  text.append("/").append(name);
  return static_cast<std::int64_t>(text_hash(text));
}
std::string LockNames::write(std::int64_t key) { return "lockset:" + hex(key); }
std::string LockNames::read(std::int64_t key, int number) {
  return write(key) + ":" + std::to_string(number);
}
std::string LockNames::gate(std::int64_t key) { return write(key) + ":gate"; }
std::string LockNames::place(std::int64_t key) { return write(key) + ":place"; }
std::string LockNames::number(int number) const {
  return "lockset number " + hex(key("")) + ":" + std::to_string(number);
}
std::string LockNames::keeper() const { return "lockset keeper " + hex(key("")); }

std::string lock_literal(std::string_view name) { return "'" + std::string(name) + "'"; }

Session::Session(const Options& options)
    : options_(options), where_(options.shown()), encrypts_(may_encrypt(options)) {}

Session::~Session() {
  if (raw_ == nullptr) return;
  if (owes()) {
    ::shutdown(fd_, SHUT_RDWR);
    static_cast<void>(receive(Sent::reading, BootClock::now() + to_end));
  }
  const LibraryCall call(encrypts_);
  prepared_.clear();
  mysql_close(raw_);
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<Session>> Session::connect(const Options& options, TimePoint by) {
  server::keep_openssl_during_exit();
  std::unique_ptr<Session> session(new Session(options));
  Status opened = session->open(session->encrypts_, by);
  if (!opened && session->encrypts_ && options.ssl_mode == SslMode::preferred &&
      session->code_ == no_tls && session->said_.find("not support") != std::string::npos) {
    session.reset(new Session(options));
    opened = session->open(false, by);
  }
  if (!opened) return opened.error();
  if (options.ssl_mode >= SslMode::required) {
    const Result<Reply> cipher =
        session->run("SHOW SESSION STATUS LIKE 'Ssl_cipher'", Sent::reading, by);
    if (!cipher) return cipher.error();
    if (cipher->rows.empty() || cipher->text(1).empty()) return not_encrypted(session->where_);
  }
  // It has to be sent even if there is no time to wait for answers.
  if (Status prepared = session->prepare(unlock_one, by); !prepared) return prepared.error();
  return session;
}

Status Session::open(bool encrypt, TimePoint by) {
  const LibraryCall call(encrypts_);
  raw_ = mysql_init(nullptr);
  if (raw_ == nullptr) throw std::bad_alloc();
  mysql_optionsv(raw_, MYSQL_OPT_NONBLOCK, nullptr);
  const unsigned within =
      static_cast<unsigned>(std::clamp<seconds>(std::chrono::ceil<seconds>(by - BootClock::now()),
                                                seconds(1), std::chrono::hours(1))
                                .count());
  mysql_optionsv(raw_, MYSQL_OPT_CONNECT_TIMEOUT, &within);
  mysql_optionsv(raw_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_optionsv(raw_, MYSQL_INIT_COMMAND, session_settings());
  const my_bool on = 1;
  if (encrypt) {
    mysql_optionsv(raw_, MYSQL_OPT_SSL_ENFORCE, &on);
    set_text(raw_, MYSQL_OPT_SSL_CERT, options_.ssl_cert);
    set_text(raw_, MYSQL_OPT_SSL_KEY, options_.ssl_key);
    set_text(raw_, MYSQL_OPT_SSL_CA, options_.ssl_ca);
    if (checks_host_name(options_.ssl_mode)) {
      mysql_optionsv(raw_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    }
  }
  const bool local = !options_.socket.empty();
  MYSQL* connected = nullptr;
  int wait = mysql_real_connect_start(
      &connected, raw_, local ? nullptr : options_.host.c_str(), options_.user.c_str(),
      options_.password.c_str(), options_.database.c_str(), local ? 0 : options_.port,
      local ? options_.socket.c_str() : nullptr, CLIENT_MULTI_RESULTS);
  bool late = false;
  while (wait != 0) {
    const auto fd = static_cast<int>(mysql_get_socket(raw_));
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    pollfd look{fd, events_for(wait), 0};
    const int ready = ::poll(&look, 1, until(by));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 && late) break;
    late = ready <= 0;
    // The library ends the attempt if it is told that time has run out.
    wait = mysql_real_connect_cont(&connected, raw_,
                                   late ? MYSQL_WAIT_TIMEOUT : events_of(look.revents));
  }
  if (connected == nullptr) {
    fail(static_cast<int>(mysql_errno(raw_)), mysql_error(raw_));
    outcome_ = Outcome::broken;
    return error_from(code_, said_, where_, Sent::nothing);
  }
  const auto fd = static_cast<int>(mysql_get_socket(raw_));
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  // The library closes its own after an error, and the number may then belong to another file.
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) {
    outcome_ = Outcome::broken;
    return Error{Errc::unavailable, where_ + ": can't connect: " + text_of_errno(EMFILE)};
  }
  // After the handshake of TLS the library makes it blocking again, and would wait in a read.
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
  id_ = static_cast<std::int64_t>(mysql_thread_id(raw_));
  return {};
}

void Session::give_up() noexcept { outcome_ = Outcome::broken; }

bool Session::hung_up() const noexcept {
  pollfd look{fd_, POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// --- the call under way ---

void Session::fail(int code, const char* said) {
  code_ = code;
  said_ = said;
}

bool Session::begin(TimePoint by) {
  if (outcome_ == Outcome::broken || !settle(by)) return false;
  reply_ = {};
  code_ = 0;
  said_.clear();
  first_set_ = true;
  return true;
}

bool Session::send(const std::string& sql, TimePoint by) {
  if (!begin(by)) return false;
  const LibraryCall call(encrypts_);
  sql_ = sql;
  stage_ = Stage::query;
  outcome_ = Outcome::late;
  after(mysql_real_query_start(&failed_, raw_, sql_.data(), sql_.size()));
  return true;
}

bool Session::send(const SessionStatement& statement, std::span<const std::string> arguments,
                   TimePoint by) {
  if (!begin(by)) return false;
  const LibraryCall call(encrypts_);
  statement_ = prepared_.at(statement.number).get();
  arguments_.assign(arguments.begin(), arguments.end());
  std::array<MYSQL_BIND, 4> binds{};
  for (std::size_t i = 0; i < arguments_.size() && i < binds.size(); ++i) {
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = arguments_[i].data();
    binds[i].buffer_length = arguments_[i].size();
  }
  if (mysql_stmt_bind_param(statement_, binds.data()) != 0) {
    give_up();
    return false;
  }
  stage_ = Stage::execute;
  outcome_ = Outcome::late;
  after(mysql_stmt_execute_start(&failed_, statement_));
  return true;
}

Status Session::prepare(const SessionStatement& statement, TimePoint by) {
  if (!begin(by)) return unanswered(Sent::reading);
  {
    const LibraryCall call(encrypts_);
    auto& prepared = prepared_.emplace_back(mysql_stmt_init(raw_));
    if (!prepared) throw std::bad_alloc();
    statement_ = prepared.get();
    sql_ = statement.sql;
    stage_ = Stage::prepare;
    outcome_ = Outcome::late;
    after(mysql_stmt_prepare_start(&failed_, statement_, sql_.data(), sql_.size()));
  }
  const Result<Reply> done = receive(Sent::reading, by);
  return done ? Status() : done.error();
}

bool Session::go_on(int events) {
  const LibraryCall call(encrypts_);
  switch (stage_) {
    case Stage::query:
      return after(mysql_real_query_cont(&failed_, raw_, events));
    case Stage::store:
      return after(mysql_store_result_cont(&set_, raw_, events));
    case Stage::next:
      return after(mysql_next_result_cont(&failed_, raw_, events));
    case Stage::prepare:
      return after(mysql_stmt_prepare_cont(&failed_, statement_, events));
    case Stage::execute:
      return after(mysql_stmt_execute_cont(&failed_, statement_, events));
    case Stage::store_rows:
      return after(mysql_stmt_store_result_cont(&failed_, statement_, events));
    case Stage::idle:
      break;
  }
  return true;
}

bool Session::after(int wait) {
  for (;;) {
    waits_for_ = wait;
    if (wait != 0) return false;
    switch (stage_) {
      case Stage::query:
      case Stage::next:
        if (failed_ != 0) {
          if (stage_ == Stage::query || failed_ > 0) {
            fail(static_cast<int>(mysql_errno(raw_)), mysql_error(raw_));
          }
          stage_ = Stage::idle;
          return true;
        }
        stage_ = Stage::store;
        wait = mysql_store_result_start(&set_, raw_);
        break;
      case Stage::store:
        if (set_ != nullptr) {
          take_rows();
        } else if (mysql_errno(raw_) != 0) {
          fail(static_cast<int>(mysql_errno(raw_)), mysql_error(raw_));
          stage_ = Stage::idle;
          return true;
        }
        if (mysql_more_results(raw_) == 0) {
          stage_ = Stage::idle;
          return true;
        }
        stage_ = Stage::next;
        wait = mysql_next_result_start(&failed_, raw_);
        break;
      case Stage::execute:
        if (failed_ == 0) {
          stage_ = Stage::store_rows;
          wait = mysql_stmt_store_result_start(&failed_, statement_);
          break;
        }
        [[fallthrough]];
      case Stage::prepare:
      case Stage::store_rows:
        if (failed_ != 0) {
          fail(static_cast<int>(mysql_stmt_errno(statement_)), mysql_stmt_error(statement_));
        } else if (stage_ == Stage::store_rows) {
          take_prepared();
        }
        stage_ = Stage::idle;
        return true;
      case Stage::idle:
        return true;
    }
  }
}

// Takes the rows of the first result set only: a CALL sends another result after it.
void Session::take_rows() {
  const unsigned columns = mysql_num_fields(set_);
  while (first_set_) {
    char** const row = mysql_fetch_row(set_);
    if (row == nullptr) break;
    const unsigned long* const lengths = mysql_fetch_lengths(set_);
    Reply::Row& taken = reply_.rows.emplace_back();
    taken.reserve(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (row[i] == nullptr) {
        taken.emplace_back();
      } else {
        taken.emplace_back(std::in_place, row[i], lengths[i]);
      }
    }
  }
  first_set_ = false;
  mysql_free_result(set_);
  set_ = nullptr;
}

// One text, which is short: our own statements answer nothing else.
void Session::take_prepared() {
  std::array<char, 256> text{};
  unsigned long length = 0;
  my_bool is_null = 0;
  MYSQL_BIND bind{};
  bind.buffer_type = MYSQL_TYPE_STRING;
  bind.buffer = text.data();
  bind.buffer_length = text.size();
  bind.length = &length;
  bind.is_null = &is_null;
  if (mysql_stmt_bind_result(statement_, &bind) == 0 && mysql_stmt_fetch(statement_) == 0) {
    Reply::Row& row = reply_.rows.emplace_back();
    if (is_null != 0) {
      row.emplace_back();
    } else {
      row.emplace_back(std::in_place, text.data(), std::min<std::size_t>(length, text.size()));
    }
  }
  mysql_stmt_free_result(statement_);
}

Error Session::unanswered(Sent sent) { return no_answer(sent, where_, " (no answer in time)"); }

Result<Reply> Session::ended(Sent sent) {
  if (code_ == 0) {
    outcome_ = Outcome::answered;
    return std::move(reply_);
  }
  outcome_ = ends_session(code_) ? Outcome::broken : Outcome::answered;
  return error_from(code_, said_, where_, sent);
}

Result<Reply> Session::receive(Sent sent, TimePoint by, int also) {
  while (owes()) {
    std::array<pollfd, 2> look{pollfd{fd_, events_for(waits_for_), 0}, pollfd{also, POLLIN, 0}};
    // Even a caller without time gets an answer that has arrived.
    const int ready = ::poll(look.data(), look.size(), until(by));
    if (ready < 0 && errno == EINTR) continue;
    if (look[0].revents == 0 && (BootClock::now() >= by || look[1].revents != 0)) {
      outcome_ = Outcome::late;
      return unanswered(sent);
    }
    if (look[0].revents != 0) static_cast<void>(go_on(events_of(look[0].revents)));
  }
  return ended(sent);
}

bool Session::settle(TimePoint by) {
  if (!owes()) return true;
  const Result<Reply> answer = receive(Sent::reading, by);
  if (!answer && outcome_ != Outcome::answered) return false;
  std::vector<LockKey> undo = std::exchange(undo_, {});
  if (!leave_places(by)) return false;
  if (undo.empty()) return true;
  // What has failed half way may have granted a part.
  const bool granted = !answer || answer->rows.empty() || !answer->text(0).starts_with('-');
  return !granted || unlock(undo, by);
}

Result<Reply> Session::run(const std::string& sql, Sent sent, TimePoint by) {
  if (!send(sql, by)) return unanswered(Sent::reading);
  return receive(sent, by);
}

Result<Reply> Session::call(const SessionStatement& statement,
                            std::span<const std::string> arguments, Sent sent, TimePoint by) {
  if (!send(statement, arguments, by)) return unanswered(Sent::reading);
  return receive(sent, by);
}

bool Session::unlock(std::span<const LockKey> keys, TimePoint by) {
  if (keys.empty()) return true;
  std::string all;
  std::string one;
  for (const LockKey& key : keys) {
    one = key.shared ? LockNames::read(key.key, number_) : LockNames::write(key.key);
    all += (all.empty() ? "DO RELEASE_LOCK(" : ", RELEASE_LOCK(") + lock_literal(one) + ")";
  }
  // Somebody may have it cancelled. What was unlocked by then is not unlocked twice.
  for (int tries = 0; tries < 3; ++tries) {
    const bool done = keys.size() == 1 ? call(unlock_one, {&one, 1}, Sent::change, by).ok()
                                       : run(all, Sent::change, by).ok();
    if (done) return true;
    if (outcome_ != Outcome::answered) return false;
  }
  give_up();
  return false;
}

bool Session::unlock_all(TimePoint by) {
  for (int tries = 0; tries < 3; ++tries) {
    if (run("DO RELEASE_ALL_LOCKS()", Sent::change, by)) {
      number_ = -1;
      places_.clear();
      return true;
    }
    if (outcome_ != Outcome::answered) return false;
  }
  give_up();
  return false;
}

bool Session::leave_places(TimePoint by) {
  if (places_.empty()) return true;
  std::string all;
  for (const LockKey& key : places_) {
    all += (all.empty() ? "DO RELEASE_LOCK(" : ", RELEASE_LOCK(") +
           lock_literal(LockNames::place(key.key)) + ")";
  }
  for (int tries = 0; tries < 3; ++tries) {
    if (run(all, Sent::change, by)) {
      places_.clear();
      return true;
    }
    if (outcome_ != Outcome::answered) break;
  }
  give_up();
  return false;
}

bool Session::end_after(Duration silence, TimePoint by) {
  return run("SET SESSION wait_timeout = " +
                 std::to_string(std::chrono::ceil<seconds>(silence).count()),
             Sent::reading, by)
      .ok();
}

}  // namespace lockset::mysql
