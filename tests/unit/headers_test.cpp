// The public headers are in three lists: the folder, lockset.h and CMakeLists.txt, which installs
// them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace lockset {
namespace {

const std::filesystem::path top = LOCKSET_TOP;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Headers, EachIsIncludedByTheOneForAllAndInstalled) {
  const std::string all = text_of(top / "include/lockset/lockset.h");
  const std::string installed = text_of(top / "CMakeLists.txt");
  int headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top / "include")) {
    if (entry.path().extension() != ".h") continue;
    ++headers;
    const std::string name = entry.path().lexically_relative(top / "include").generic_string();
    // One needs Boost, which not everybody has; one is for other languages.
    const bool apart =
        name == "lockset/lockset.h" || name == "lockset/asio.h" || name == "lockset/c.h";
    if (!apart) {
      EXPECT_NE(all.find("#include \"" + name + "\""), std::string::npos) << name;
    }
    EXPECT_NE(installed.find("  include/" + name), std::string::npos) << name;
  }
  EXPECT_GT(headers, 20);
}

}  // namespace
}  // namespace lockset
