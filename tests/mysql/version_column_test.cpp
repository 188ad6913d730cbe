// Optimistic locking in the program's own tables: examples/version_column.
#include "tests/support/version_column.h"

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class OwnTables final : public test::SqlSession {
 public:
  explicit OwnTables(std::unique_ptr<RawMysql> session) : session_(std::move(session)) {}
  std::int64_t change(const std::string& sql) override {
    session_->rows(sql);
    return session_->number("SELECT ROW_COUNT()");
  }
  std::optional<std::int64_t> number(const std::string& sql) override {
    const auto rows = session_->rows(sql);
    if (rows.empty()) return std::nullopt;
    return std::stoll(rows.at(0).at(0).value());
  }
  void be_impatient() override { session_->rows("SET innodb_lock_wait_timeout = 1"); }

 private:
  std::unique_ptr<RawMysql> session_;
};

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
