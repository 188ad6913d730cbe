// Optimistic locking in the program's own tables: examples/version_column.
#include "tests/support/version_column.h"

#include <cstdlib>

#include "tests/postgresql/fixture.h"
#include "tests/support/requirement.h"

namespace lockset::postgresql_tests {
namespace {

class OwnTables final : public test::SqlSession {
 public:
  std::int64_t change(const std::string& sql) override {
    return static_cast<std::int64_t>(session_.run(sql).affected_rows());
  }
  std::optional<std::int64_t> number(const std::string& sql) override {
    const pqxx::result rows = session_.run(sql);
    if (rows.empty()) return std::nullopt;
    return rows[0][0].as<std::int64_t>();
  }
  void be_impatient() override { session_.run("SET lock_timeout = '1s'"); }
  void be_quiet() { session_.run("SET client_min_messages = warning"); }

 private:
  Session session_;
};

class VersionColumnTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    one_ = std::make_unique<OwnTables>();
    two_ = std::make_unique<OwnTables>();
    one_->be_quiet();
    example_ = std::make_unique<test::VersionColumn>(*one_, *two_);
  }

  std::unique_ptr<OwnTables> one_;
  std::unique_ptr<OwnTables> two_;
  std::unique_ptr<test::VersionColumn> example_;
};

TEST_F(VersionColumnTest, TheSecondChangeIsAConflict) {
  example_->the_second_change_is_a_conflict();
}
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
