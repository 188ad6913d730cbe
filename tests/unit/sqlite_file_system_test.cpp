// The file systems that the SQLite backend refuses, and the meaning of its addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "backends/sqlite/address.h"
#include "backends/sqlite/file_system.h"
#include "backends/sqlite/holds.h"

namespace lockset::sqlite {
namespace {

using testing::HasSubstr;

TEST(SqliteFileSystem, RefusesThoseThatHostsShare) {
  EXPECT_EQ(shared_file_system(0x6969), "NFS");
  EXPECT_EQ(shared_file_system(0xFF534D42), "CIFS");
  EXPECT_EQ(shared_file_system(0xFE534D42), "SMB2");
  EXPECT_EQ(shared_file_system(0x01021997), "9P");
  EXPECT_EQ(shared_file_system(0x65735546), "FUSE");
}

TEST(SqliteFileSystem, SeesASignedMagic) {
  // f_type is a signed 32-bit word on some machines.
  EXPECT_EQ(shared_file_system(0xFFFFFFFFFF534D42), "CIFS");
}

TEST(SqliteFileSystem, TakesLocalOnes) {
  for (const std::uint64_t magic :
       {0xEF53ULL /* ext4 */, 0x58465342ULL /* XFS */, 0x9123683EULL /* btrfs */,
        0x01021994ULL /* tmpfs */, 0x794C7630ULL /* overlayfs */, 0x2FC12FC1ULL /* ZFS */}) {
    EXPECT_EQ(shared_file_system(magic), "") << magic;
  }
}

// The list that kernels before 5.8 have: mounts_test.cpp compares the two on a mount.
TEST(SqliteFileSystem, FindsAMountInTheKernelsList) {
  const auto mounted = [](const std::string& path) {
    std::istringstream mounts(
        "22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
        "36 35 98:0 /srv/locks.db /data/with\\040blank\\134.db rw master:1 - ext4 /dev/sda1 rw\n"
        "broken\n"
        "37 35 98:0 /srv /data/locks rw - ext4 /dev/sda1 rw\n");
    return is_mount_point(path, mounts);
  };
  EXPECT_TRUE(mounted("/data/with blank\\.db"));
  EXPECT_TRUE(mounted("/data/locks"));
  EXPECT_FALSE(mounted("/data/locks/locks.db")) << "a file in a mounted directory";
  EXPECT_FALSE(mounted("/srv/locks.db")) << "what is mounted, not where";
  EXPECT_FALSE(mounted("broken"));
}

Result<Options> parse(std::string_view text) { return parse_address(Url::parse(text).value()); }

TEST(SqliteAddress, NamesAFile) {
  EXPECT_EQ(parse("sqlite:/var/lib/a.db").value().path, "/var/lib/a.db");
  EXPECT_EQ(parse("sqlite:///var/lib/a%20b.db").value().path, "/var/lib/a b.db");
  EXPECT_THAT(parse("sqlite:sub/a.db").value().path, testing::MatchesRegex("/.*sub/a\\.db"));
  EXPECT_FALSE(parse("sqlite:/a").value().sync_all);
  EXPECT_FALSE(parse("sqlite:/a?durability=lease").value().sync_all);
  EXPECT_TRUE(parse("sqlite:/a?durability=full").value().sync_all);
}

// What addresses of before said
TEST(SqliteAddress, KnowsTheOlderWord) {
  EXPECT_TRUE(parse("sqlite:/a?synchronous=full").value().sync_all);
  EXPECT_FALSE(parse("sqlite:/a?synchronous=normal").value().sync_all);
  EXPECT_TRUE(parse("sqlite:/a?synchronous=full&durability=full").value().sync_all);
}

TEST(SqliteAddress, WithoutAPathIsTheStateFolder) {
  const char* old = std::getenv("XDG_STATE_HOME");
  const std::string kept = old != nullptr ? old : "";
  setenv("XDG_STATE_HOME", "/some/state", 1);
  EXPECT_EQ(parse("sqlite:").value().path, "/some/state/lockset/lockset.db");
  setenv("XDG_STATE_HOME", "not/absolute", 1);
  EXPECT_THAT(parse("sqlite:").value().path, HasSubstr("/.local/state/lockset/lockset.db"));
  if (old != nullptr) {
    setenv("XDG_STATE_HOME", kept.c_str(), 1);
  } else {
    unsetenv("XDG_STATE_HOME");
  }
}

TEST(SqliteAddress, RefusesWhatCantBeMeant) {
  for (const char* text : {"sqlite://host/a.db", "sqlite::memory:", "sqlite:/a?sync=full",
                           "sqlite:/a?synchronous=off", "sqlite:/a?durability=none",
                           "sqlite:/a?durability=lease&synchronous=full", "sqlite:/a%00b"}) {
    const Result<Options> options = parse(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_EQ(options.error().code, Errc::invalid) << text;
  }
  EXPECT_THAT(parse("sqlite:/a?sync=full").error().message, HasSubstr("durability"));
  EXPECT_THAT(parse("sqlite:/a?synchronous=off").error().message, HasSubstr("full or normal"));
}

TEST(SqlitePackedSet, ComesBack) {
  const Items items{{std::string(255, 'x'), Mode::write}, {"\xC3\xA9", Mode::read}};
  EXPECT_EQ(unpacked(packed(items)), items);
  EXPECT_EQ(unpacked(packed(items).substr(0, 100)), Items());  // damaged: nothing is read past the
                                                               // end
}

}  // namespace
}  // namespace lockset::sqlite
