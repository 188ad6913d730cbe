// Counts the grants so far, from the logs that the workers write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace lockset::chaos {

// Not thread-safe.
class GrantWatch {
 public:
  explicit GrantWatch(std::filesystem::path logs) : logs_(std::move(logs)) {}
  // Reads what was added since the last call.
  std::uint64_t grants();

 private:
  struct Place {
    std::uintmax_t read = 0;
    std::string rest;  // of a line that was not complete yet
  };
  void read(const std::filesystem::path& path, Place& place);

  const std::filesystem::path logs_;
  std::map<std::filesystem::path, Place> places_;
  std::uint64_t grants_ = 0;
};

}  // namespace lockset::chaos
