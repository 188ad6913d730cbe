// Identifies a file in the kernel, no matter which paths lead to it.
#pragma once

#include <compare>
#include <string>

namespace lockset::sqlite {

struct FileId {
  unsigned long long device = 0;
  unsigned long long inode = 0;

  auto operator<=>(const FileId&) const = default;

  // Reads the id of the file at the path. False if there is none; errno says why.
  bool find(const std::string& path);
};

}  // namespace lockset::sqlite
