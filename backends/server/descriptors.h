// Descriptors of this process: client libraries open some without reporting them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lockset::server {

// Descriptors of one kind, "socket:" or "pipe:", and the inode of each. Empty if /proc can't be
// read.
std::map<int, std::string> open_descriptors(std::string_view kind);

}  // namespace lockset::server
