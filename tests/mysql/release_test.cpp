// SEM 9: a release checks the hold in the store, also on the short ways, which are for a hold of
// one name that the client knows.
#include <vector>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class ReleaseByName : public MysqlTest {
 protected:
  // Alone, and together with others.
  std::vector<bool> release(Client& by, const HoldRef& hold, const std::string& app) {
    std::vector<bool> ended{by.backend().release(hold, app, soon()).value()};
    const std::vector<HoldRef> both{hold, hold};
    for (const bool each : by.backend().release_all(both, app, soon()).value()) {
      ended.push_back(each);
    }
    return ended;
  }
};

TEST_P(ReleaseByName, AnotherApplicationEndsNothing) {
  Client mine = client();
  const LockSet set = test::make_set({write("a")});
  const Stamp stamp = mine.take({write("a")}).stamp;
  HoldRef hold(stamp);
  hold.set = &set;
  EXPECT_EQ(release(mine, hold, "another"), std::vector<bool>(3, false));
  EXPECT_TRUE(mine.is_live(stamp));
}

TEST_P(ReleaseByName, AnExpiredHoldIsNotEnded) {
  Client mine = client();
  const LockSet set = test::make_set({write("a")});
  HoldRef hold(mine.take({write("a")}, {.lease = 1min}).stamp);
  hold.set = &set;
  admin().rows("UPDATE " + table("_locks") + " SET expires = 1");
  EXPECT_EQ(release(mine, hold, mine.owner().app), std::vector<bool>(3, false));
}

LOCKSET_MYSQL_SERVERS(ReleaseByName);

}  // namespace
}  // namespace lockset::mysql_tests
