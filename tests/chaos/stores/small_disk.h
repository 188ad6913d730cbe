// A folder on a small file system, which can be filled up.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lockset::chaos {

class SmallDisk {
 public:
  // Why that is impossible here; unset if it is possible. From then on the calling thread, and the
  // threads and processes that it starts, have their own mounts: nothing stays mounted after they
  // are gone.
  static std::optional<std::string> unavailable();

  // REQUIRES: !unavailable(). Throws std::runtime_error.
  explicit SmallDisk(const std::filesystem::path& folder);
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  void fill();   // until not one more byte can be written
  void clear();  // harmless if it was not filled

 private:
  std::filesystem::path folder_;
};

}  // namespace lockset::chaos
