#include "backends/server/descriptors.h"

#include <charconv>
#include <filesystem>
#include <system_error>

namespace lockset::server {

std::map<int, std::string> open_descriptors(std::string_view kind) {
  namespace fs = std::filesystem;
  std::map<int, std::string> found;
  std::error_code failed;
  fs::directory_iterator entry("/proc/self/fd", failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).string();
    if (gone || !target.starts_with(kind)) continue;
    const std::string number = entry->path().filename().string();
    int fd = -1;
    if (std::from_chars(number.data(), number.data() + number.size(), fd).ec == std::errc()) {
      found.emplace(fd, target);
    }
  }
  return found;
}

}  // namespace lockset::server
