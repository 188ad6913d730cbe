#include "tests/chaos/grant_watch.h"

#include <fstream>
#include <string_view>

namespace lockset::chaos {

std::uint64_t GrantWatch::grants() {
  for (const auto& each : std::filesystem::directory_iterator(logs_)) {
    read(each.path(), places_[each.path()]);
  }
  return grants_;
}

void GrantWatch::read(const std::filesystem::path& path, Place& place) {
  if (std::filesystem::file_size(path) <= place.read) return;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place.read));
  std::string text(std::size_t{1} << 20, '\0');
  while (file) {
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    place.read += got;
    place.rest.append(text, 0, got);
    std::size_t at = 0;
    for (std::size_t end; (end = place.rest.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto line = std::string_view(place.rest).substr(at, end - at);
      if (line.find(" granted ") != std::string_view::npos) ++grants_;
    }
    place.rest.erase(0, at);
  }
}

}  // namespace lockset::chaos
