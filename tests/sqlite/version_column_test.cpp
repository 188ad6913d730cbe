// Optimistic locking in the program's own tables: examples/version_column.
#include "tests/support/version_column.h"

#include "tests/sqlite/folder.h"
#include "tests/sqlite/own_tables.h"

namespace lockset::test {
namespace {

class VersionColumnTest : public testing::Test {
 protected:
  Folder folder_;
  OwnTables one_{folder_.file("app.db")};
  OwnTables two_{folder_.file("app.db")};
  VersionColumn example_{one_, two_};
};

TEST_F(VersionColumnTest, TheSecondChangeIsAConflict) {
  example_.the_second_change_is_a_conflict();
}
TEST_F(VersionColumnTest, ThePageShowsTheSame) { example_.the_page_shows_the_same(); }
TEST_F(VersionColumnTest, TheSameContentIsNotTheSameVersion) {
  example_.the_same_content_is_not_the_same_version();
}
TEST_F(VersionColumnTest, WhatComesBackHasAnotherVersion) {
  example_.what_comes_back_has_another_version();
}
TEST_F(VersionColumnTest, OneOfTwoInsertsWins) { example_.one_of_two_inserts_wins(); }
TEST_F(VersionColumnTest, WhatAChangeDependsOnIsCheckedAsWell) {
  example_.what_a_change_depends_on_is_checked_as_well();
}
TEST_F(VersionColumnTest, AnAggregateHasOneVersion) { example_.an_aggregate_has_one_version(); }

}  // namespace
}  // namespace lockset::test
