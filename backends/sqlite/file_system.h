// The file systems that a lock database may be on.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>

#include "lockset/error.h"

namespace lockset::sqlite {

// The name of the file system if hosts may share it, else empty. `magic` is statfs(2)'s f_type. On
// such a file system file locks are unreliable, and WAL and the wake-up words need the memory of
// one kernel. FUSE is refused altogether: its f_type does not distinguish sshfs and glusterfs from
// a local file system.
std::string_view shared_file_system(std::uint64_t magic) noexcept;

// True if a single file is mounted at `path` (docker -v /srv/locks.db:/locks.db): then the files
// beside it are not those beside the same file elsewhere. False for a file in a mounted directory,
// and if there is nothing at `path`.
bool is_mount_point(const std::string& path);

// The same from the text of /proc/self/mountinfo, for kernels whose statx does not report it
// (before 5.8). `path` contains no links.
bool is_mount_point(const std::string& path, std::istream& mounts);

// Errc::misconfigured if `directory` is on a shared file system.
Status check_file_system(const std::string& directory);

}  // namespace lockset::sqlite
