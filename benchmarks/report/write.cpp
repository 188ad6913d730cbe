#include "benchmarks/report/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace lockset::bench {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw std::runtime_error("can't " + what + " " + path + ": " +
                           std::generic_category().message(error));
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }
  // 0 or an error: even the close may refuse what was written.
  int close() { return ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno; }

 private:
  int descriptor_;
};

// 0 or an error.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  // A special file (/dev/stdout, a pipe) can't be replaced, only written to.
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  const bool plain = !there || S_ISREG(status.st_mode);
  // In the same folder: a rename works only within one file system. For a link, the folder of its
  // target.
  std::string target = path;
  if (char* real = there && plain ? ::realpath(path.c_str(), nullptr) : nullptr; real != nullptr) {
    target = real;
    ::free(real);
  }
  const std::string made = plain ? target + "." + std::to_string(::getpid()) + ".part" : path;
  constexpr mode_t readable = 0644;
  File file(::open(made.c_str(), O_WRONLY | O_CLOEXEC | (plain ? O_CREAT | O_TRUNC : 0), readable));
  if (file.get() < 0) fail("write", path, errno);
  int error = write_all(file.get(), content);
  if (const int at_close = file.close(); error == 0) error = at_close;
  if (error == 0 && plain && ::rename(made.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (plain) ::unlink(made.c_str());
  fail("write", path, error);
}

std::string read_file(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("read", path, errno);
  std::string content;
  std::string part(1U << 16U, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) return content;
    content.append(part, 0, static_cast<std::size_t>(got));
  }
}

}  // namespace lockset::bench
