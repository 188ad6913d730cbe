#include "backends/sqlite/file_id.h"

#include <fcntl.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif

#include <cerrno>

namespace lockset::sqlite {

// Asks only for the identity. Since Linux 6.13 a file whose times were read gets new ones at its
// next write, and then each fdatasync of the log would have to write its inode, too.
bool FileId::find(const std::string& path) {
#ifdef STATX_INO
  struct statx found {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &found) == 0) {
    device = makedev(found.stx_dev_major, found.stx_dev_minor);
    inode = found.stx_ino;
    return true;
  }
  if (errno != ENOSYS) return false;
#endif
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  device = info.st_dev;
  inode = info.st_ino;
  return true;
}

}  // namespace lockset::sqlite
