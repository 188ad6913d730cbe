// Optimistic locking in the program's own tables: examples/version_column.
#include "tests/support/version_column.h"

#include "tests/postgresql/own_tables.h"
#include "tests/support/requirement.h"

namespace lockset::postgresql_tests {
namespace {

class VersionColumnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    one_ = std::make_unique<OwnTables>();
    two_ = std::make_unique<OwnTables>();
    example_ = std::make_unique<test::VersionColumn>(*one_, *two_);
  }

  std::unique_ptr<OwnTables> one_;
  std::unique_ptr<OwnTables> two_;
  std::unique_ptr<test::VersionColumn> example_;
};

TEST_F(VersionColumnTest, TheSecondChangeIsAConflict) {
  example_->the_second_change_is_a_conflict();
}
TEST_F(VersionColumnTest, ThePageShowsTheSame) { example_->the_page_shows_the_same(); }
TEST_F(VersionColumnTest, TheSameContentIsNotTheSameVersion) {
  example_->the_same_content_is_not_the_same_version();
}
TEST_F(VersionColumnTest, WhatComesBackHasAnotherVersion) {
  example_->what_comes_back_has_another_version();
}
TEST_F(VersionColumnTest, OneOfTwoInsertsWins) { example_->one_of_two_inserts_wins(); }
TEST_F(VersionColumnTest, WhatAChangeDependsOnIsCheckedAsWell) {
  example_->what_a_change_depends_on_is_checked_as_well();
}
TEST_F(VersionColumnTest, AnAggregateHasOneVersion) { example_->an_aggregate_has_one_version(); }

}  // namespace
}  // namespace lockset::postgresql_tests
