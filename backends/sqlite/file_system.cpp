#include "backends/sqlite/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

#include "lockset/lock_set.h"

namespace lockset::sqlite {

std::string_view shared_file_system(std::uint64_t magic) noexcept {
  struct Known {
    std::uint32_t magic;
    std::string_view name;
  };
  // From linux/magic.h, and from the sources of the file systems that it omits.
  static constexpr Known known[] = {
      {0x6969, "NFS"},        {0x517B, "SMB"},      {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB2"},
      {0x5346414F, "AFS"},    {0x6B414653, "AFS"},  {0x00C36400, "Ceph"},  {0x01021997, "9P"},
      {0x0BD00BD0, "Lustre"}, {0x01161970, "GFS2"}, {0x7461636F, "OCFS2"}, {0x65735546, "FUSE"},
      {0x73757245, "Coda"},   {0x47504653, "GPFS"}, {0x564C, "NCP"},       {0x19830326, "BeeGFS"},
      {0x2BAD1DEA, "PanFS"},
  };
  // f_type is a signed word on some machines: compare only the lower 32 bits.
  for (const Known& one : known) {
    if (one.magic == static_cast<std::uint32_t>(magic)) return one.name;
  }
  return {};
}

namespace {

// A path in the form that the kernel uses in its list of mounts.
std::string escaped(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (std::string_view(" \t\n\\").find(c) == std::string_view::npos) {
      result += c;
      continue;
    }
    const auto octal = [c](int shift) { return static_cast<char>('0' + ((c >> shift) & 7)); };
    result += {'\\', octal(6), octal(3), octal(0)};
  }
  return result;
}

}  // namespace

bool is_mount_point(const std::string& path, std::istream& mounts) {
  const std::string wanted = escaped(path);
  std::string line;
  while (std::getline(mounts, line)) {
    // Number, parent's number, device, what is mounted, and where.
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    if (fields && field == wanted) return true;
  }
  return false;
}

bool is_mount_point(const std::string& path) {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx found {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &found) != 0) {
    if (errno == ENOENT) return false;
  } else if ((found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
#endif
  std::ifstream mounts("/proc/self/mountinfo");
  return is_mount_point(path, mounts);
}

Status check_file_system(const std::string& directory) {
#ifdef __linux__
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return {};  // opening the file will say why
  const std::string_view name = shared_file_system(static_cast<std::uint64_t>(info.f_type));
  if (!name.empty()) {
    return Error{Errc::misconfigured,
                 in_quotes(directory) + " is on " + std::string(name) +
                     ", where SQLite's locks are not safe: put the lock database on a local disk, "
                     "or use a server backend for locks between hosts"};
  }
#else
  static_cast<void>(directory);
#endif
  return {};
}

}  // namespace lockset::sqlite
