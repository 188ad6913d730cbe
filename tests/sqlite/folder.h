// A folder of the test, with the lock databases in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace lockset::test {

class Folder {
 public:
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "lockset-sqlite-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = made;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string url(const std::string& name) const { return "sqlite:" + file(name); }

 private:
  std::filesystem::path path_;
};

}  // namespace lockset::test
