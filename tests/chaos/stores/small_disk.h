// A folder on a small file system of its own, which can be filled up.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lockset::chaos {

class SmallDisk {
 public:
  // Why there can be none here; unset if there can. From then on the calling thread, and the
  // threads and processes that it starts, see mounts of their own: nothing is left mounted
  // when they are gone.
  static std::optional<std::string> unavailable();

  // REQUIRES: !unavailable(). Throws std::runtime_error.
  explicit SmallDisk(const std::filesystem::path& folder);
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  void fill();   // until not a byte more can be written
  void clear();  // harmless if it was not filled

 private:
  std::filesystem::path folder_;
};

}  // namespace lockset::chaos
