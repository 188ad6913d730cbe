#include "tests/support/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "history/text.h"

namespace lockset::test {

Recorder::Recorder(std::string process, const Clock& clock) : clock_(clock) {
  log_.process = std::move(process);
}

Recorder::Recorder(std::string process, const std::string& path, const Clock& clock)
    : Recorder(std::move(process), clock) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) throw std::runtime_error("can't make " + path + ": " + std::strerror(errno));
  write(history::print_header(log_.process));
}

Recorder::~Recorder() {
  if (file_ >= 0) ::close(file_);
}

// One system call per line, so no mutex is needed: with O_APPEND each line stays whole.
void Recorder::write(const std::string& text) {
  if (::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  std::fprintf(stderr, "the history of %s can't be written: %s\n", log_.process.c_str(),
               std::strerror(errno));
  std::abort();
}

void Recorder::record_at(TimePoint time, history::What what) {
  history::Event event{time, std::move(what)};
  if (file_ >= 0) return write(history::print(event));
  const std::lock_guard lock(mutex_);
  log_.events.push_back(std::move(event));
}

std::uint64_t Recorder::ask_at(TimePoint time, std::span<const LockRequest> wanted, Duration lease,
                               Duration wait, std::span<const std::uint32_t> permits) {
  const std::uint64_t op = ++ops_;
  record_at(time, history::Ask{op, wishes(wanted, permits), lease, wait});
  return op;
}

history::Log Recorder::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

std::vector<history::Wish> wishes(std::span<const LockRequest> items,
                                  std::span<const std::uint32_t> permits) {
  std::vector<history::Wish> set;
  set.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    set.push_back({items[i].name, items[i].mode, i < permits.size() ? permits[i] : 0});
  }
  return set;
}

}  // namespace lockset::test
