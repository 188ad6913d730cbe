// SEM 10: leases are counted on the host's boot clock. These tests boot the host again, or run
// processes that see another boot clock than the host's.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "lockset/registry.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/forked.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

Client open_client(const std::string& url, const std::string& app) {
  return Client(std::shared_ptr<Backend>(open_backend(url, soon()).value()), app);
}

class SqliteBoot : public testing::Test {
 protected:
  Client client(const std::string& app = "app") { return open_client(url_, app); }
  // As if the database had last been used before the host was booted: the holds' ends were `later`
  // on that boot's clock than on this one's, and `passed` of each lease was over by the calendar.
  void boot(std::chrono::microseconds later, std::chrono::microseconds passed) {
    Database database(folder_.file("locks.db"));
    database.run("UPDATE space SET boot_id = 'of the boot before'");
    database.run("UPDATE holds SET expires_boot_us = expires_boot_us + " +
                 std::to_string(later.count()) + ", expires_wall_us = expires_wall_us - " +
                 std::to_string(passed.count()));
  }
  std::optional<Duration> remaining() { return client().holds().at(0).remaining; }

  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
};

constexpr auto years = std::chrono::hours(24 * 365 * 10);

TEST_F(SqliteBoot, AHoldKeepsTheRestOfItsLease) {
  const Stamp stamp = client().take({write("a")}, {.lease = 10min}).stamp;
  boot(years, 4min);
  ASSERT_TRUE(remaining());
  EXPECT_LE(*remaining(), 6min) << "its old end lies years ahead on the new boot's clock";
  EXPECT_TRUE(client().is_live(stamp));
}

// By the new boot's clock, the old end has passed.
TEST_F(SqliteBoot, AHoldDoesNotEndWithTheBoot) {
  const Stamp stamp = client().take({write("a")}, {.lease = 10min}).stamp;
  boot(-20min, 1min);
  EXPECT_TRUE(client().is_live(stamp));
}

TEST_F(SqliteBoot, AHoldWhoseLeaseEndedMeanwhileIsOver) {
  const Stamp stamp = client().take({write("a")}, {.lease = 1min}).stamp;
  boot(years, 2min);
  EXPECT_FALSE(client().is_live(stamp));
  EXPECT_TRUE(client("other").take({write("a")}).stamp);
}

// The calendar was set back meanwhile.
TEST_F(SqliteBoot, NoLeaseBecomesLonger) {
  client().take({write("a")}, {.lease = 1min});
  boot(years, -years);
  ASSERT_TRUE(remaining());
  EXPECT_LE(*remaining(), 1min);
}

// SEM 10: the last renewal counts
TEST_F(SqliteBoot, ARenewedHoldKeepsTheRestOfItsRenewal) {
  {
    Client mine = client();
    const Stamp stamp = mine.take({write("a")}, {.lease = 1s}).stamp;
    ASSERT_TRUE(mine.renew(stamp, 10min));
  }
  boot(years, 4min);
  ASSERT_EQ(client().holds().size(), 1U);
  EXPECT_LE(*remaining(), 6min);
  EXPECT_GT(*remaining(), 1s);
}

// SEM 11
TEST_F(SqliteBoot, APermanentHoldStays) {
  {
    Client mine = client();
    const Stamp stamp = mine.take({write("a")}, {.lease = 1min}).stamp;
    ASSERT_TRUE(mine.make_permanent(stamp));
  }
  boot(years, years);
  ASSERT_EQ(client().holds().size(), 1U);
  EXPECT_FALSE(remaining());
}

// SEM 13, 19: the waiters from before the boot are dead; later ones are not taken for them
TEST_F(SqliteBoot, WaitersOfBeforeAreGoneAndOthersStay) {
  client("holder").take({write("a")}, {.lease = 10min});
  {
    Client dead = client("dead");
    dead.meet_busy({write("a")}, {.will_wait = true});
  }
  boot(0s, 0s);
  Client waiter = client("waiter");
  waiter.meet_busy({write("a")}, {.will_wait = true});
  const Client other = client("other");
  Database database(folder_.file("locks.db"));
  EXPECT_EQ(database.texts("SELECT app FROM waiters"), std::vector<std::string>{"waiter"});
  EXPECT_EQ(database.number("SELECT count(*) FROM waiter_names"), 1);
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

// The children of this process get a boot clock two hours ahead of the host's.
bool children_are_ahead() {
  const std::string user = std::to_string(geteuid());
  if (unshare(CLONE_NEWTIME) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) return false;
    std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  }
  std::ofstream offsets("/proc/self/timens_offsets");
  offsets << "boottime 7200 0" << std::endl;
  return offsets.good();
}

class SqliteTimeNamespace : public testing::Test {
 protected:
  void SetUp() override {
    if (in_child([] { return children_are_ahead() ? 0 : 1; }) != 0) {
      const char* const why = "this user may not make time namespaces";
      if (required("time namespaces")) FAIL() << why;
      GTEST_SKIP() << why;
    }
  }
  // The exit code of `body`, in a time namespace. No file may be open in this process.
  static int ahead(const std::function<int()>& body) {
    return in_child([&] { return children_are_ahead() ? in_child(body) : 90; });
  }

  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
};

// SEM 10, 20: as in a separate container
TEST_F(SqliteTimeNamespace, AllCountOnOneClock) {
  const TimePoint here = BootClock::now();
  ASSERT_EQ(ahead([&] { return BootClock::now() > here + 1h ? 0 : 1; }), 0);

  ASSERT_EQ(in_child([&] {
              open_client(url_, "here").take({write("here")}, {.lease = 10min});
              return 0;
            }),
            0);
  EXPECT_EQ(ahead([&] {
              Client there = open_client(url_, "there");
              if (there.try_take({write("here")})) return 1;
              if (*there.holds().at(0).remaining > 10min) return 2;
              there.take({write("there")}, {.lease = 10min});
              return 0;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              Client again = open_client(url_, "here");
              if (again.try_take({write("there")})) return 1;
              return *again.holds().at(1).remaining > 10min ? 2 : 0;
            }),
            0);
}

}  // namespace
}  // namespace lockset::test
