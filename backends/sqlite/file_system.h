// Which file systems a lock database may lie on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockset/error.h"

namespace lockset::sqlite {

// The name of the file system if it may be shared between hosts, else empty.
// `magic` is statfs(2)'s f_type. On such a file system file locks are unreliable,
// and WAL and the wake-up words need one kernel's memory. FUSE is refused
// altogether: its f_type does not tell sshfs and glusterfs from a local one.
std::string_view shared_file_system(std::uint64_t magic) noexcept;

// Errc::misconfigured if `directory` lies on a shared file system.
Status check_file_system(const std::string& directory);

}  // namespace lockset::sqlite
