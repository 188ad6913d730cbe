#include "benchmarks/report/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace lockset::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WriteFile : public ::testing::Test {
 protected:
  WriteFile() {
    std::string pattern = ::testing::TempDir() + "lockset-report-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~WriteFile() override { fs::remove_all(folder_); }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string refusal(const fs::path& path) {
    try {
      write_file(path, "x");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(WriteFile, TakesThePlaceOfWhatWasThere) {
  const fs::path path = folder_ / "page.html";
  write_file(path, "one");
  write_file(path, std::string(300'000, 'x'));
  EXPECT_EQ(read_file(path), std::string(300'000, 'x'));
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, FollowsALink) {
  fs::create_symlink(folder_ / "there", folder_ / "link");
  write_file(folder_ / "there", "one");
  write_file(folder_ / "link", "two");
  EXPECT_EQ(read_file(folder_ / "there"), "two");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(WriteFile, SaysInOneLineWhatWasRefused) {
  const fs::path path = folder_ / "missing" / "page.html";
  EXPECT_EQ(refusal(path), "can't write " + path.string() + ": No such file or directory");
  EXPECT_THAT(refusal(folder_), HasSubstr("Is a directory"));
  EXPECT_EQ(files(), 0U);
  EXPECT_THROW((void)read_file(path), std::runtime_error);
}

// write() reports a full disk, or only close() does.
TEST_F(WriteFile, WritesToWhatIsNoPlainFile) {
  write_file("/dev/null", "gone");
  EXPECT_THAT(refusal("/dev/full"), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace lockset::bench
