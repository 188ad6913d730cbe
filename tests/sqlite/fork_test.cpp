// SEM 18: what SQLite keeps for the whole process, and a fork copies.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lockset/lockset.h"
#include "lockset/migration.h"
#include "lockset/registry.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/forked.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

// Uses only the backend, which starts no thread.
bool refused(const std::string& url) {
  const Result<std::unique_ptr<Backend>> backend = open_backend(url, soon());
  return !backend && backend.error().code == Errc::misconfigured &&
         backend.error().message.find("fork") != std::string::npos;
}

Client client(const std::string& url, const std::string& app = "app") {
  return Client(std::shared_ptr<Backend>(open_backend(url, soon()).value()), app);
}

int open_descriptors_of(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return -1;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat other {};
    if (stat(entry.path().c_str(), &other) != 0) continue;
    if (other.st_ino == file.st_ino && other.st_dev == file.st_dev) ++count;
  }
  return count;
}

class SqliteFork : public testing::Test {
 protected:
  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
};

TEST_F(SqliteFork, AnyNameOfTheFileIsRefused) {
  const Client mine = client(url_);
  std::filesystem::create_symlink(folder_.file("locks.db"), folder_.file("link.db"));
  std::filesystem::create_directory_symlink(folder_.file("."), folder_.file("here"));
  const std::vector<std::string> names{"locks.db", "link.db", "here/locks.db", "here/link.db"};
  for (const std::string& name : names) {
    EXPECT_EQ(in_child([&] { return refused(folder_.url(name)) ? 0 : 1; }), 0) << name;
  }
}

TEST_F(SqliteFork, AMigrationFromItIsRefused) {
  const Client mine = client(url_);
  const std::string both = migrate_url(url_, folder_.url("other.db"));
  EXPECT_EQ(in_child([&] { return refused(both) ? 0 : 1; }), 0);
}

TEST_F(SqliteFork, AnAncestorOfAnAncestorCounts) {
  const Client mine = client(url_);
  const std::string others = folder_.url("others.db");
  const int found = in_child([&] {
    const Client own = client(others);
    return in_child([&] {
      if (!refused(url_)) return 1;
      return refused(others) ? 0 : 2;
    });
  });
  EXPECT_EQ(found, 0);
}

// A fork that the C library reports to nobody.
TEST_F(SqliteFork, AForkWithoutHandlersCountsToo) {
  const Client mine = client(url_);
  const pid_t child = _Fork();
  if (child == 0) {
    alarm(60);
    _exit(refused(url_) ? 0 : 1);
  }
  EXPECT_EQ(end_of(child), 0);
}

// It opens the file to look into it.
TEST_F(SqliteFork, TheDoctorIsRefused) {
  const Client mine = client(url_);
  const int found = in_child([&] {
    const Result<std::vector<Finding>> findings = examine_space(url_, soon());
    if (!findings) return 1;
    return std::any_of(findings->begin(), findings->end(),
                       [](const Finding& finding) {
                         return finding.level == Finding::Level::unsafe &&
                                finding.text.find("fork") != std::string::npos;
                       })
               ? 0
               : 2;
  });
  EXPECT_EQ(found, 0);
}

// A child does not close what it inherits, because the parent has it open.
TEST_F(SqliteFork, AChildClosesNothingOfItsParents) {
  auto mine = open_backend(url_, soon()).value();
  const int before = open_descriptors_of(folder_.file("locks.db"));
  ASSERT_GT(before, 0);
  const int found = in_child([&] {
    mine.reset();
    return open_descriptors_of(folder_.file("locks.db")) == before ? 0 : 1;
  });
  EXPECT_EQ(found, 0);
}

// Otherwise a child could not trust that SQLite's lists are empty once everything is closed: SQLite
// keeps a descriptor of a file that was closed during other transactions.
TEST_F(SqliteFork, TheLastToCloseLeavesNoDescriptor) {
  const std::string file = folder_.file("locks.db");
  std::jthread writer([&](const std::stop_token& stop) {
    Client busy = client(url_, "busy");
    while (!stop.stop_requested()) busy.release(busy.take({write("w")}).stamp);
  });
  for (int round = 0; round < 50; ++round) {
    const Client one = client(url_, "one");
    Client two = client(url_, "two");
    two.take({write("n" + std::to_string(round))}, {.lease = 10min});
  }
  writer = {};
  EXPECT_EQ(open_descriptors_of(file), 0);
  EXPECT_EQ(in_child([&] {
              client(url_).take({write("c")}, {.lease = 10min});
              return 0;
            }),
            0);
  EXPECT_EQ(client(url_).holds().size(), 51U);
}

// While threads open and close it, a child is refused, or its grants are valid.
TEST_F(SqliteFork, BetweenOpeningsAndClosings) {
  client(url_);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i](const std::stop_token& stop) {
      const std::string name = "t" + std::to_string(i);
      while (!stop.stop_requested()) {
        Client mine = client(url_, name);
        mine.release(mine.take({write(name)}).stamp);
      }
    });
  }
  std::size_t granted = 0;
  for (int round = 0; round < 200; ++round) {
    const int end = in_child([&] {
      if (refused(url_)) return 1;
      client(url_, "child").take({write("c" + std::to_string(round))}, {.lease = 10min});
      return 0;
    });
    ASSERT_TRUE(end == 0 || end == 1) << end;
    if (end == 0) ++granted;
  }
  threads.clear();
  EXPECT_EQ(client(url_).holds().size(), granted);
}

// SQLite's process-wide mutexes: a thread that is inside one at the fork does not exist in the
// child, which would find the mutex locked for ever.
TEST_F(SqliteFork, AChildMayOpenAnotherFileWhateverThreadsDo) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Client mine = client(folder_.url("parents" + std::to_string(i) + ".db"));
        for (int n = 0; n < 20; ++n) mine.release(mine.take({write("a")}).stamp);
      }
    });
  }
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(in_child([&] {
                client(folder_.url("childs.db")).take({write("c" + std::to_string(round))});
                return 0;
              }),
              0)
        << "142: it hung";
  }
}

}  // namespace
}  // namespace lockset::test
