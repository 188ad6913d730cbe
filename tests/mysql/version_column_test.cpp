// Optimistic locking in the program's own tables: examples/version_column.
#include "tests/support/version_column.h"

#include "tests/mysql/fixture.h"
#include "tests/mysql/own_tables.h"

namespace lockset::mysql_tests {
namespace {

class VersionColumnTest : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    one_ = std::make_unique<OwnTables>(session());
    two_ = std::make_unique<OwnTables>(session());
    example_ = std::make_unique<test::VersionColumn>(*one_, *two_);
  }
  void TearDown() override {
    example_.reset();
    MysqlTest::TearDown();
  }

 protected:
  std::unique_ptr<OwnTables> one_;
  std::unique_ptr<OwnTables> two_;
  std::unique_ptr<test::VersionColumn> example_;
};
LOCKSET_MYSQL_SERVERS(VersionColumnTest);

TEST_P(VersionColumnTest, TheSecondChangeIsAConflict) {
  example_->the_second_change_is_a_conflict();
}
TEST_P(VersionColumnTest, ThePageShowsTheSame) { example_->the_page_shows_the_same(); }
TEST_P(VersionColumnTest, TheSameContentIsNotTheSameVersion) {
  example_->the_same_content_is_not_the_same_version();
}
TEST_P(VersionColumnTest, WhatComesBackHasAnotherVersion) {
  example_->what_comes_back_has_another_version();
}
TEST_P(VersionColumnTest, OneOfTwoInsertsWins) { example_->one_of_two_inserts_wins(); }
TEST_P(VersionColumnTest, WhatAChangeDependsOnIsCheckedAsWell) {
  example_->what_a_change_depends_on_is_checked_as_well();
}
TEST_P(VersionColumnTest, AnAggregateHasOneVersion) { example_->an_aggregate_has_one_version(); }

}  // namespace
}  // namespace lockset::mysql_tests
