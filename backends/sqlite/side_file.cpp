#include "backends/sqlite/side_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "backends/text_hash.h"
#include "core/shortage.h"
#include "lockset/lock_set.h"

#ifndef F_OFD_SETLK
#error "the SQLite backend needs open file description locks; build with LOCKSET_WITH_SQLITE=OFF"
#endif

namespace lockset::sqlite {
namespace {

constexpr std::size_t file_bytes = SideFile::words * sizeof(std::uint32_t);

Error failure(const std::string& path, const char* what, int error) {
  const std::string text = std::string("can't ") + what + " the lock database's side file " +
                           in_quotes(path) + ": " + text_of_errno(error);
  if (is_shortage(error)) return Error{Errc::unavailable, text};
  return Error{Errc::misconfigured,
               text + "; every user of the database must be able to write it and its directory"};
}

// As SQLite does for its own side files: users of the database may use them too.
bool take_over_permissions(int fd, const struct stat& database) {
  if (geteuid() == 0 && fchown(fd, database.st_uid, database.st_gid) != 0) return false;
  return fchmod(fd, database.st_mode & 0777) == 0;
}

}  // namespace

Result<std::unique_ptr<SideFile>> SideFile::open(const std::string& database) {
  const std::string path = database + "-gate";
  struct stat info {};
  if (::stat(database.c_str(), &info) != 0) return failure(path, "find the owner of", errno);
  bool made = true;
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777);
  if (fd < 0 && errno == EEXIST) {
    made = false;
    fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  if (fd < 0) return failure(path, "open", errno);
  struct stat own {};
  int error = 0;
  if (made && !take_over_permissions(fd, info)) error = errno;
  if (error == 0 && ::fstat(fd, &own) != 0) error = errno;
  // Allocates real blocks: on a full disk, touching a hole that can't be filled would kill the
  // process.
  if (error == 0 && own.st_size < static_cast<off_t>(file_bytes)) {
    error = posix_fallocate(fd, 0, file_bytes);
  }
  void* memory = MAP_FAILED;
  if (error == 0) {
    memory = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    ::close(fd);
    return failure(path, "map", error);
  }
  return std::unique_ptr<SideFile>(new SideFile(fd, static_cast<std::uint32_t*>(memory)));
}

SideFile::~SideFile() {
  munmap(memory_, file_bytes);
  ::close(fd_);
}

void SideFile::sleep_on(std::size_t index, std::uint32_t value, Duration most) const noexcept {
  // In slices: some kernels refuse absurd timeouts.
  most = std::min<Duration>(most, std::chrono::minutes(1));
  if (most <= Duration::zero()) return;
#ifdef __linux__
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(seconds.count());
  timeout.tv_nsec = static_cast<long>((most - seconds).count());
  // Not FUTEX_PRIVATE: the sleepers are in other processes.
  syscall(SYS_futex, memory_ + index, FUTEX_WAIT, value, &timeout, nullptr, 0);
#else
  if (word(index).load() == value) {
    std::this_thread::sleep_for(std::min<Duration>(most, std::chrono::milliseconds(10)));
  }
#endif
}

void SideFile::wake(std::size_t index, int count) const noexcept {
#ifdef __linux__
  syscall(SYS_futex, memory_ + index, FUTEX_WAKE, count, nullptr, nullptr, 0);
#else
  static_cast<void>(index);
  static_cast<void>(count);
#endif
}

namespace {

bool set_lock(int fd, std::int64_t byte, short type) noexcept {
  // Open file description locks: the kernel releases them at death like all file locks, but they
  // also work between two backends of one process, and closing another descriptor of the file does
  // not drop them.
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  int result = 0;
  do {
    result = fcntl(fd, F_OFD_SETLK, &range);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

bool SideFile::is_locked(std::int64_t byte) const noexcept {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return fcntl(fd_, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

std::int64_t SideFile::identity() const noexcept {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return 0;
  const std::string text = std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
  return static_cast<std::int64_t>(text_hash(text) >> 1);
}

bool SideFile::try_lock(std::int64_t byte) const noexcept { return set_lock(fd_, byte, F_WRLCK); }
void SideFile::unlock(std::int64_t byte) const noexcept { set_lock(fd_, byte, F_UNLCK); }

}  // namespace lockset::sqlite
