#include "benchmarks/rivals/flock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lockset::bench {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("can't ") + what +
                           " a file for flock: " + std::strerror(errno));
}

// As flock(1) does: opened for each lock, and closed to release it.
class LockedFile {
 public:
  LockedFile(const std::string& path, Mode mode)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) fail("open");
    int result = 0;
    do {
      result = ::flock(fd_, mode == Mode::read ? LOCK_SH : LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      const int why = errno;
      ::close(fd_);
      errno = why;
      fail("lock");
    }
  }
  LockedFile(LockedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  int fd_;
};

class FlockClient : public Client {
 public:
  explicit FlockClient(const std::string& folder) : folder_(folder) {}

  void lock(std::span<const std::string> names, Mode mode) override {
    for (const std::string& name : names) held_.emplace_back(folder_ + "/" + name, mode);
  }
  void unlock() override { held_.clear(); }

 private:
  const std::string& folder_;
  std::vector<LockedFile> held_;
};

class FlockEntry : public Entry {
 public:
  explicit FlockEntry(std::string folder) : folder_(std::move(folder)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<FlockClient>(folder_); }

 private:
  const std::string folder_;
};

}  // namespace

std::unique_ptr<Entry> enter_flock(std::string folder) {
  return std::make_unique<FlockEntry>(std::move(folder));
}

}  // namespace lockset::bench
