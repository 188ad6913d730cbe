// Which file systems a lock database may lie on.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>

#include "lockset/error.h"

namespace lockset::sqlite {

// The name of the file system if it may be shared between hosts, else empty.
// `magic` is statfs(2)'s f_type. On such a file system file locks are unreliable,
// and WAL and the wake-up words need one kernel's memory. FUSE is refused
// altogether: its f_type does not tell sshfs and glusterfs from a local one.
std::string_view shared_file_system(std::uint64_t magic) noexcept;

// True if a file of its own is mounted at `path` (docker -v /srv/locks.db:/locks.db), so that the
// files beside it are not those beside the same file elsewhere. A file in a mounted directory is
// none. False, too, if there is nothing at `path`.
bool is_mount_point(const std::string& path);

// The same from the text of /proc/self/mountinfo, for kernels whose statx does not tell (before
// 5.8). `path` has no links in it.
bool is_mount_point(const std::string& path, std::istream& mounts);

// Errc::misconfigured if `directory` lies on a shared file system.
Status check_file_system(const std::string& directory);

}  // namespace lockset::sqlite
