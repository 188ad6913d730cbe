#include "core/shortage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockset {

bool is_shortage(int error) noexcept {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return true;
    default:
      return false;
  }
}

std::string text_of_errno(int error) {
  std::string text = std::system_category().message(error);
  if (error == EMFILE) text += "; raise the limit on open files (ulimit -n)";
  if (error == EAGAIN) text += "; is the limit on processes and threads reached (ulimit -u)?";
  if (error == EFBIG) text += "; raise the limit on the size of files (ulimit -f)";
  return text;
}

bool no_descriptor_left() noexcept {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int error = fd < 0 ? errno : 0;
  if (fd >= 0) ::close(fd);
  return error == EMFILE || error == ENFILE;
}

}  // namespace lockset
