#include "cli/chat.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

using namespace tools;
namespace {

void write_now(const std::string& text) {
  // If standard error itself fails, there is nobody left to tell.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
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

}  // namespace

// Shared with its thread, which may still block in a write when we end.
class ChatWriter {
 public:
  bool put(std::string text, bool fleeting) {
    const std::lock_guard lock(mutex_);
    if (fleeting && (writing_ || !queue_.empty())) return false;
    if (queue_.size() >= most) {
      ++left_out_;
      return false;
    }
    queue_.push_back(std::move(text));
    changed_.notify_one();
    return true;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
      if (queue_.empty()) break;
      std::string text = std::move(queue_.front());
      queue_.pop_front();
      if (queue_.empty() && left_out_ != 0) {
        text += "lockset: " + std::to_string(std::exchange(left_out_, 0)) +
                " more lines were dropped because nobody read them\n";
      }
      writing_ = true;
      lock.unlock();
      write_now(text);
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
  std::deque<std::string> queue_;
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

void say(std::string_view line) {
  std::string text = "lockset: ";
  text += without_passwords(line);
  text += '\n';
  write_chat(std::move(text));
}

void write_chat(std::string text) {
  if (const auto writer = current().get()) {
    writer->put(std::move(text), false);
  } else {
    write_now(text);
  }
}

bool write_fleeting(std::string text) {
  if (const auto writer = current().get()) return writer->put(std::move(text), true);
  write_now(text);
  return true;
}

}  // namespace lockset::cli
