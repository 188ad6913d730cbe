#include "cli/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

using namespace tools;
namespace {

// 0, or the error.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  constexpr mode_t everybody_reads = 0644;
  return ::fchmod(fd, everybody_reads) == 0 ? 0 : errno;
}

}  // namespace

void replace_file(const std::string& path, std::string_view text) {
  struct stat info {};
  // A rename would replace a device or a link itself.
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    throw Failure(exit_usage, in_quotes(path) + " is no regular file; name one, or one to be made");
  }
  // In the same folder: a rename goes no further than a file system.
  std::string fresh = path + ".XXXXXX";
  const FileDescriptor fd(::mkostemp(fresh.data(), O_CLOEXEC));
  int error = fd ? write_all(fd.get(), text) : errno;
  if (error == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (fd) ::unlink(fresh.c_str());
  throw Failure(exit_output, "can't write " + in_quotes(path) + ": " + std::strerror(error));
}

}  // namespace lockset::cli
