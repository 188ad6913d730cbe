#include "tests/chaos/stores/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lockset::chaos {
namespace {

std::filesystem::path filler(const std::filesystem::path& folder) { return folder / "filler"; }

}  // namespace

std::optional<std::string> SmallDisk::unavailable() {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return "a file system of its own can't be mounted (" + std::string(std::strerror(errno)) +
           "): run it as root";
  }
  return {};
}

SmallDisk::SmallDisk(const std::filesystem::path& folder) : folder_(folder) {
  if (mount("lockset", folder.c_str(), "tmpfs", 0, "size=64m,mode=0777") != 0) {
    throw std::runtime_error("no tmpfs on " + folder.string() + ": " + std::strerror(errno));
  }
}

SmallDisk::~SmallDisk() { umount2(folder_.c_str(), MNT_DETACH); }

void SmallDisk::fill() {
  const int file = ::open(filler(folder_).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("the disk can't be filled: " + folder_.string());
  const std::array<char, 65536> block{};
  // At last a single page: larger writes are refused earlier.
  for (std::size_t size = block.size(); size >= 4096;) {
    if (::write(file, block.data(), size) <= 0) size /= 2;
  }
  ::close(file);
}

void SmallDisk::clear() {
  std::error_code ignored;
  std::filesystem::remove(filler(folder_), ignored);
}

}  // namespace lockset::chaos
