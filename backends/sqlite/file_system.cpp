#include "backends/sqlite/file_system.h"

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <cstring>

#include "lockset/lock_set.h"

namespace lockset::sqlite {

std::string_view shared_file_system(std::uint64_t magic) noexcept {
  struct Known {
    std::uint32_t magic;
    std::string_view name;
  };
  // From linux/magic.h and the sources of those that it leaves out.
  static constexpr Known known[] = {
      {0x6969, "NFS"},        {0x517B, "SMB"},      {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB2"},
      {0x5346414F, "AFS"},    {0x6B414653, "AFS"},  {0x00C36400, "Ceph"},  {0x01021997, "9P"},
      {0x0BD00BD0, "Lustre"}, {0x01161970, "GFS2"}, {0x7461636F, "OCFS2"}, {0x65735546, "FUSE"},
      {0x73757245, "Coda"},   {0x47504653, "GPFS"}, {0x564C, "NCP"},       {0x19830326, "BeeGFS"},
      {0x2BAD1DEA, "PanFS"},
  };
  // f_type is a signed word on some machines: compare what fits in 32 bits.
  for (const Known& one : known) {
    if (one.magic == static_cast<std::uint32_t>(magic)) return one.name;
  }
  return {};
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
