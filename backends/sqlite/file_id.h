// What names a file in the kernel, whatever paths lead to it.
#pragma once

#include <compare>
#include <string>

namespace lockset::sqlite {

struct FileId {
  unsigned long long device = 0;
  unsigned long long inode = 0;

  auto operator<=>(const FileId&) const = default;

  // Of the file that stands at the path; false: errno says why there is none.
  bool find(const std::string& path);
};

}  // namespace lockset::sqlite
