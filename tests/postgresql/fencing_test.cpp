// Resources that refuse stale holders: docs/fencing.md.
#include "tests/support/fencing.h"

#include <cstdlib>
#include <memory>

#include "tests/postgresql/own_tables.h"
#include "tests/support/requirement.h"

namespace lockset::postgresql_tests {
namespace {

class FencingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    one_ = std::make_unique<OwnTables>();
    two_ = std::make_unique<OwnTables>();
    fencing_ = std::make_unique<test::Fencing>(*one_, *two_);
  }

  std::unique_ptr<OwnTables> one_;
  std::unique_ptr<OwnTables> two_;
  std::unique_ptr<test::Fencing> fencing_;
};

TEST_F(FencingTest, AStaleStampChangesNothing) { fencing_->a_stale_stamp_changes_nothing(); }
TEST_F(FencingTest, ARaceIsWonByTheLaterHolder) { fencing_->a_race_is_won_by_the_later_holder(); }
TEST_F(FencingTest, ReadersShareUntilOneIsLost) { fencing_->readers_share_until_one_is_lost(); }
TEST_F(FencingTest, TheSameWriteAgainCounts) { EXPECT_EQ(fencing_->the_same_write_again(), 1); }

// examples/psql_job.sh: a stale job changes nothing, and fails
TEST(FencedJob, PsqlRefusesAStaleStamp) {
  if (!test::have_server("postgresql")) return;
  Session admin;
  admin.run("SET client_min_messages = warning");
  admin.run("DROP TABLE IF EXISTS prices");
  admin.run("CREATE TABLE prices (id INT PRIMARY KEY, price INT, fence BIGINT NOT NULL DEFAULT 0)");
  admin.run("INSERT INTO prices VALUES (1, 10)");
  const auto job = [](int stamp, int price) {
    const std::string command = "LOCKSET_STAMP=" + std::to_string(stamp) +
                                " " LOCKSET_EXAMPLES "/psql_job.sh '" + server().admin_url() +
                                "' " + std::to_string(price);
    return std::system(command.c_str());
  };
  EXPECT_EQ(job(34, 20), 0);
  EXPECT_EQ(job(34, 21), 0);  // a holder may write again
  EXPECT_NE(job(33, 99), 0);
  EXPECT_EQ(admin.number("SELECT price FROM prices"), 21);
  EXPECT_EQ(job(35, 22), 0);
  EXPECT_EQ(admin.number("SELECT price FROM prices"), 22);
  EXPECT_EQ(admin.number("SELECT fence FROM prices"), 35);
  admin.run("DROP TABLE prices");
}

}  // namespace
}  // namespace lockset::postgresql_tests
