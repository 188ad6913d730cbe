// Resources that refuse stale holders: docs/fencing.md.
#include "tests/support/fencing.h"

#include "tests/sqlite/folder.h"
#include "tests/sqlite/own_tables.h"

namespace lockset::test {
namespace {

class FencingTest : public testing::Test {
 protected:
  Folder folder_;
  OwnTables one_{folder_.file("app.db")};
  OwnTables two_{folder_.file("app.db")};
  Fencing fencing_{one_, two_};
};

TEST_F(FencingTest, AStaleStampChangesNothing) { fencing_.a_stale_stamp_changes_nothing(); }
TEST_F(FencingTest, ARaceIsWonByTheLaterHolder) { fencing_.a_race_is_won_by_the_later_holder(); }
TEST_F(FencingTest, ReadersShareUntilOneIsLost) { fencing_.readers_share_until_one_is_lost(); }
TEST_F(FencingTest, TheSameWriteAgainCounts) { EXPECT_EQ(fencing_.the_same_write_again(), 1); }

}  // namespace
}  // namespace lockset::test
