#include "cli/chat.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/calendar.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

using namespace tools;
namespace {

enum class Form { text, json, syslog };
// Set before the first thread starts.
Form form = Form::text;

struct Severity {
  int priority;  // syslog's
  std::string_view name;
};
constexpr Severity error{LOG_ERR, "error"};
constexpr Severity warning{LOG_WARNING, "warning"};
constexpr Severity notice{LOG_NOTICE, "notice"};
constexpr Severity info{LOG_INFO, "info"};

// What is written at once.
struct Piece {
  std::string text;   // as it is written
  int priority = -1;  // of a message for syslog; -1: for standard error
};

void write_now(const Piece& piece) {
  if (piece.priority >= 0) {
    ::syslog(piece.priority, "%s", piece.text.c_str());
    return;
  }
  // If standard error itself fails, there is nobody left to tell.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, piece.text.data(), piece.text.size());
}

// Addresses are found by their "://". Such a word ends with its quotation mark, or at a space.
std::string without_passwords(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t mark = text.find("://");
    if (mark == std::string_view::npos) return result.append(text);
    const std::size_t begin = text.find_last_of(" \"", mark) + 1;  // 0 without one
    const bool quoted = begin > 0 && text[begin - 1] == '"';
    std::size_t end = text.find(quoted ? '"' : ' ', mark);
    while (quoted && end != std::string_view::npos && text[end - 1] == '\\') {
      end = text.find('"', end + 1);
    }
    end = std::min(end, text.size());
    result.append(text.substr(0, begin)).append(redact_url(text.substr(begin, end - begin)));
    text.remove_prefix(end);
  }
}

Piece composed(const Severity& severity, std::string_view line,
               const nlohmann::ordered_json* fields = nullptr) {
  const std::string safe = without_passwords(line);
  const std::string word = severity.priority == LOG_WARNING ? "warning: " : "";
  switch (form) {
    case Form::text:
      return {"lockset: " + word + safe + "\n"};
    case Form::syslog:
      return {word + safe, severity.priority};
    case Form::json:
      break;
  }
  nlohmann::ordered_json all{{"time", utc_time(std::chrono::system_clock::now())},
                             {"severity", severity.name},
                             {"program", "lockset"},
                             {"pid", ::getpid()},
                             {"message", safe}};
  if (fields != nullptr) all["audit"] = *fields;
  // A label or an error of a server may be any bytes.
  return {all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"};
}

}  // namespace

// Shared with its thread, which may still block in a write when we end.
class ChatWriter {
 public:
  bool put(Piece piece, bool fleeting) {
    const std::lock_guard lock(mutex_);
    if (fleeting && (writing_ || !queue_.empty())) return false;
    if (queue_.size() >= most) {
      ++left_out_;
      return false;
    }
    queue_.push_back(std::move(piece));
    changed_.notify_one();
    return true;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
      if (queue_.empty()) break;
      const Piece piece = std::move(queue_.front());
      queue_.pop_front();
      const std::size_t left_out = queue_.empty() ? std::exchange(left_out_, 0) : 0;
      writing_ = true;
      lock.unlock();
      write_now(piece);
      if (left_out != 0) {
        write_now(composed(warning, std::to_string(left_out) +
                                        " more lines were dropped because nobody read them"));
      }
      lock.lock();
      writing_ = false;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(finished_.get(), &one, sizeof one);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  // Readable once everything was written after end().
  [[nodiscard]] int finished() const noexcept { return finished_.get(); }

 private:
  // More than anybody would want to read later.
  static constexpr std::size_t most = 1000;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> queue_;
  std::size_t left_out_ = 0;
  bool writing_ = false;
  bool over_ = false;
  const FileDescriptor finished_{::eventfd(0, EFD_CLOEXEC)};
};

namespace {

// What say() writes to; null: it writes itself.
struct Current {
  std::mutex mutex;
  std::shared_ptr<ChatWriter> writer;
  std::shared_ptr<ChatWriter> get() {
    const std::lock_guard lock(mutex);
    return writer;
  }
  void set(std::shared_ptr<ChatWriter> to) {
    const std::lock_guard lock(mutex);
    writer = std::move(to);
  }
};

// Never destroyed: a static object's destructor may still call say().
Current& current() {
  static auto* const made = new Current;
  return *made;
}

}  // namespace

Chat::Chat(Signals& signals) : signals_(signals), writer_(std::make_shared<ChatWriter>()) {
  if (writer_->finished() < 0) fail_system("open a file descriptor", EMFILE);
  std::thread([writer = writer_] { writer->run(); }).detach();
  current().set(writer_);
}

Chat::~Chat() {
  writer_->end();
  for (;;) {
    pollfd fds[2] = {{writer_->finished(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[0].revents != 0) break;
    while (const std::optional<int> signal = signals_.next()) {
      // Later lines also go to the thread: writing them here would wait just the same.
      if (asks_to_end(*signal)) return;
      if (*signal == SIGTSTP) signals_.stop_self();
    }
  }
  current().set(nullptr);
}

namespace {

void put(Piece piece) {
  if (const auto writer = current().get()) {
    writer->put(std::move(piece), false);
  } else {
    write_now(piece);
  }
}

}  // namespace

void say(std::string_view line) { put(composed(info, line)); }
void warn(std::string_view line) { put(composed(warning, line)); }
void say_error(std::string_view line) { put(composed(error, line)); }
void say_deed(std::string_view line, const nlohmann::ordered_json& fields) {
  put(composed(notice, line, &fields));
}

void set_log_form(std::string_view name) {
  if (name == "text") form = Form::text;
  if (name == "json") form = Form::json;
  if (name != "syslog" || form == Form::syslog) return;
  // syslog(3) reports no failure.
  constexpr const char* listener = "/dev/log";
  if (::access(listener, W_OK) != 0) {
    static bool told = false;
    if (std::exchange(told, true)) return;
    warn(std::string("nobody listens at ") + listener + ", so --log syslog says it here");
    return;
  }
  ::openlog("lockset", LOG_PID, LOG_USER);
  form = Form::syslog;
}

bool log_is_text() { return form == Form::text; }

void write_chat(std::string text) { put({std::move(text)}); }

bool write_fleeting(std::string text) {
  if (const auto writer = current().get()) return writer->put({std::move(text)}, true);
  write_now({std::move(text)});
  return true;
}

}  // namespace lockset::cli
