// Resources that refuse stale holders: docs/fencing.md.
#include "tests/support/fencing.h"

#include <memory>

#include "tests/mysql/fixture.h"
#include "tests/mysql/own_tables.h"

namespace lockset::mysql_tests {
namespace {

class FencingTest : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    one_ = std::make_unique<OwnTables>(session());
    two_ = std::make_unique<OwnTables>(session());
    fencing_ = std::make_unique<test::Fencing>(*one_, *two_);
  }
  void TearDown() override {
    fencing_.reset();
    MysqlTest::TearDown();
  }

  std::unique_ptr<OwnTables> one_;
  std::unique_ptr<OwnTables> two_;
  std::unique_ptr<test::Fencing> fencing_;
};
LOCKSET_MYSQL_SERVERS(FencingTest);

TEST_P(FencingTest, AStaleStampChangesNothing) { fencing_->a_stale_stamp_changes_nothing(); }
TEST_P(FencingTest, ARaceIsWonByTheLaterHolder) { fencing_->a_race_is_won_by_the_later_holder(); }
TEST_P(FencingTest, ReadersShareUntilOneIsLost) { fencing_->readers_share_until_one_is_lost(); }

// The page warns of it: rows that were found and not changed do not count, unless the client asks
// for them.
TEST_P(FencingTest, TheSameWriteAgainCountsOnlyIfFoundRowsDo) {
  EXPECT_EQ(fencing_->the_same_write_again(), 0);
  OwnTables found(std::make_unique<test::RawMysql>(server().admin_url(), RawMysql::Count::found));
  EXPECT_EQ(test::Fencing(found, *two_).the_same_write_again(), 1);
}

}  // namespace
}  // namespace lockset::mysql_tests
