// Single files of a lock database that are mounted, in mount namespaces of the test.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/sqlite/file_system.h"
#include "lockset/lockset.h"
#include "lockset/registry.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/forked.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

// As root, otherwise as the root of a user namespace. REQUIRES: one thread.
bool enter_mount_namespace() {
  const std::string user = std::to_string(geteuid());
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool bind_at(const std::string& what, const std::string& where) {
  return mount(what.c_str(), where.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool says(const Error& error, const std::string& what) {
  return error.code == Errc::misconfigured && error.message.find(what) != std::string::npos &&
         error.message.find("mount the directory") != std::string::npos;
}

bool refused(const std::string& url, const std::string& file) {
  const Result<std::unique_ptr<Backend>> backend = open_backend(url, soon());
  return !backend && says(backend.error(), "\"" + file + "\"");
}

// The database is in `here`; `there` is another folder.
class SqliteMounts : public testing::Test {
 protected:
  void SetUp() override {
    if (in_child([] { return enter_mount_namespace() ? 0 : 1; }) != 0) {
      const char* const why = "this user may not make mount namespaces";
      if (required("mounts")) FAIL() << why;
      GTEST_SKIP() << why;
    }
    open_backend(here_.url("locks.db"), soon()).value();
  }
  // The exit code of `body`, in a mount namespace.
  static int in_namespace(const std::function<int()>& body) {
    return in_child([&] { return enter_mount_namespace() ? body() : 90; });
  }

  Folder here_;
  Folder there_;
};

TEST_F(SqliteMounts, AFileOfItsOwnIsRefused) {
  const std::string file = there_.file("locks.db");
  const std::string url = there_.url("locks.db");
  std::ofstream(file).flush();
  std::filesystem::create_symlink(file, there_.file("link.db"));
  const int end = in_namespace([&] {
    if (!bind_at(here_.file("locks.db"), file)) return 1;
    if (!refused(url, file)) return 2;
    if (!refused(there_.url("link.db"), file)) return 3;
    const Result<std::vector<Finding>> findings = examine_space(url, soon());
    if (!findings || findings->empty()) return 4;
    const Finding& first = findings->front();
    if (first.level != Finding::Level::unsafe) return 5;
    if (first.text.find("mount the directory") == std::string::npos) return 6;
    for (const char* const suffix : {"-wal", "-shm", "-gate"}) {
      if (std::filesystem::exists(file + suffix)) return 7;
    }
    return 0;
  });
  EXPECT_EQ(end, 0);
}

// Mounted onto itself, as for a service that may write only this file.
TEST_F(SqliteMounts, AFileMountedOverItselfIsRefused) {
  const std::string file = here_.file("locks.db");
  const int end = in_namespace([&] {
    if (!bind_at(file, file)) return 1;
    return refused(here_.url("locks.db"), file) ? 0 : 2;
  });
  EXPECT_EQ(end, 0);
}

TEST_F(SqliteMounts, ASideFileOfItsOwnIsRefused) {
  for (const std::string suffix : {"-wal", "-shm", "-gate"}) {
    const std::string side = here_.file("locks.db" + suffix);
    const std::string other = there_.file("other" + suffix);
    const int end = in_namespace([&] {
      // The side files exist while a process has it open.
      const auto user = open_backend(here_.url("locks.db"), soon()).value();
      std::filesystem::copy_file(side, other);
      if (!bind_at(other, side)) return 1;
      return refused(here_.url("locks.db"), side) ? 0 : 2;
    });
    EXPECT_EQ(end, 0) << suffix;
  }
}

TEST_F(SqliteMounts, AFileInAMountedDirectoryIsTheSame) {
  const std::string here = std::filesystem::path(here_.file("locks.db")).parent_path();
  const std::string there = there_.file("mounted");
  std::filesystem::create_directory(there);
  Signal mounted;
  Signal may_look;
  const pid_t child = start_child([&] {
    may_look.only_hears();
    if (!enter_mount_namespace() || !bind_at(here, there)) return 1;
    if (!mounted.send() || !may_look.heard()) return 2;
    Client client(
        std::shared_ptr<Backend>(open_backend("sqlite:" + there + "/locks.db", soon()).value()));
    client.meet_busy({write("a")});
    client.take({write("b")}, {.lease = 10min});
    return 0;
  });
  mounted.only_hears();
  ASSERT_TRUE(mounted.heard());
  Client client(std::shared_ptr<Backend>(open_backend(here_.url("locks.db"), soon()).value()));
  client.take({write("a")}, {.lease = 10min});
  EXPECT_TRUE(may_look.send());
  EXPECT_EQ(end_of(child), 0);
  client.meet_busy({write("b")});
}

// The list that older kernels have gives the same answer.
TEST_F(SqliteMounts, TheListOfMountsTellsTheSame) {
  const std::string file = there_.file("with blank.db");
  std::ofstream(file).flush();
  const int end = in_namespace([&] {
    const auto listed = [](const std::string& path) {
      std::ifstream mounts("/proc/self/mountinfo");
      return sqlite::is_mount_point(path, mounts);
    };
    if (listed(file) || sqlite::is_mount_point(file)) return 1;
    if (!bind_at(here_.file("locks.db"), file)) return 2;
    if (!listed(file)) return 3;
    if (!sqlite::is_mount_point(file)) return 4;
    return listed(here_.file("locks.db")) || sqlite::is_mount_point(here_.file("locks.db")) ? 5 : 0;
  });
  EXPECT_EQ(end, 0);
}

}  // namespace
}  // namespace lockset::test
