// The statements of examples/version_column, and what every SQL server has to make of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <map>
#include <sstream>
#include <string>

#include "tests/support/sql_example.h"

namespace lockset::test {

// The statements in a file of examples/version_column.
inline std::string example(const std::string& file,
                           const std::map<std::string, std::int64_t>& values = {}) {
  return sql_in(std::string(LOCKSET_EXAMPLES) + "/version_column/" + file, values);
}

// Two sessions on empty tables.
class VersionColumn {
 public:
  VersionColumn(SqlSession& one, SqlSession& two) : one_(one), two_(two) {
    drop();
    for (const char* file : {"tables.sql", "shared_tables.sql"}) {
      std::istringstream all(example(file));
      for (std::string sql; std::getline(all, sql, ';');) one_.change(sql);
    }
    one_.change("INSERT INTO customers VALUES (1, 10, 1)");
    EXPECT_EQ(one_.change(example("add.sql", {{"id", 7}, {"customer", 1}, {"amount", 100}})), 1);
  }
  VersionColumn(const VersionColumn&) = delete;
  VersionColumn& operator=(const VersionColumn&) = delete;
  ~VersionColumn() { drop(); }

  // One of two changes from the same version is refused, and it is told by its row count.
  void the_second_change_is_a_conflict() {
    EXPECT_EQ(change(one_, 101, 1), 1);
    EXPECT_EQ(change(two_, 102, 1), 0);
    EXPECT_EQ(amount(), 101);
    EXPECT_EQ(change(two_, 102, 2), 1);  // after it has read again
    EXPECT_EQ(amount(), 102);
  }

  // The statement that docs/patterns.md shows.
  void the_page_shows_the_same() {
    const auto change = [](SqlSession& session, std::int64_t amount) {
      return session.change(sql_in(std::string(LOCKSET_PAGES) + "/patterns/version-column.sql",
                                   {{"id", 7}, {"amount", amount}, {"version", 1}}));
    };
    EXPECT_EQ(change(one_, 101), 1);
    EXPECT_EQ(change(two_, 102), 0);
    EXPECT_EQ(amount(), 101);
  }

  // ABA: the content is as it was, and it is another change all the same.
  void the_same_content_is_not_the_same_version() {
    const std::string by_content = "UPDATE invoices SET amount = 105 WHERE id = 7 AND amount = 100";
    EXPECT_EQ(change(two_, 200, 1), 1);
    EXPECT_EQ(change(two_, 100, 2), 1);
    EXPECT_EQ(change(one_, 105, 1), 0);
    EXPECT_EQ(one_.change(by_content), 1);  // which compares the content, and sees nothing
  }

  // ABA of the version itself: a row that is deleted and added again begins at 1.
  void what_comes_back_has_another_version() {
    one_.change("DELETE FROM invoices WHERE id = 7 AND version = 1");
    one_.change(example("add.sql", {{"id", 7}, {"customer", 1}, {"amount", 1}}));
    EXPECT_EQ(change(two_, 999, 1), 1);  // from what it read before: the mistake
    EXPECT_EQ(remove(one_, 1), 0);
    EXPECT_EQ(remove(one_, 2), 1);
    EXPECT_FALSE(one_.number(example("read.sql", {{"id", 7}})));
    EXPECT_EQ(change(two_, 998, 2), 0);
    EXPECT_EQ(change(two_, 998, 3), 0);  // it is gone, whatever the version
    EXPECT_EQ(remove(two_, 3), 0);
    EXPECT_EQ(one_.change(example("add_again.sql", {{"id", 7}, {"amount", 5}})), 1);
    EXPECT_EQ(two_.change(example("add_again.sql", {{"id", 7}, {"amount", 6}})), 0);
    for (const int old : {1, 2, 3}) EXPECT_EQ(change(two_, 998, old), 0) << old;
    EXPECT_EQ(change(two_, 8, 4), 1);
  }

  // The second of two that add the same is refused.
  void one_of_two_inserts_wins() {
    const std::string add = example("add.sql", {{"id", 8}, {"customer", 1}, {"amount", 1}});
    EXPECT_EQ(one_.change(add), 1);
    EXPECT_THROW(two_.change(add), std::exception);
  }

  // An invoice is computed with the discount of its customer, which changes meanwhile.
  void what_a_change_depends_on_is_checked_as_well() {
    EXPECT_EQ(two_.change(discount(20, 1)), 1);
    EXPECT_EQ(change(one_, 90, 1), 1);  // with the old discount: the row itself is no conflict
    one_.change("BEGIN");
    EXPECT_FALSE(one_.number(still(1)));
    one_.change("ROLLBACK");
    one_.change("BEGIN");
    EXPECT_EQ(one_.number(still(2)), 2);
    two_.be_impatient();
    EXPECT_THROW(two_.change(discount(30, 2)), std::exception);  // not before the commit
    EXPECT_EQ(change(one_, 80, 2), 1);
    one_.change("COMMIT");
    EXPECT_EQ(two_.change(discount(30, 2)), 1);
    EXPECT_EQ(amount(), 80);
  }

  // Two people change different rows of one aggregate.
  void an_aggregate_has_one_version() {
    one_.change("INSERT INTO versions VALUES (42, 1)");
    one_.change("INSERT INTO addresses VALUES (1, 42, 'Rome'), (2, 42, 'Oslo')");
    const std::string bump = example("shared_change.sql", {{"aggregate", 42}, {"version", 1}});
    one_.change("BEGIN");
    EXPECT_EQ(one_.change(bump), 1);
    EXPECT_EQ(one_.change("UPDATE addresses SET city = 'Bari' WHERE id = 1"), 1);
    EXPECT_EQ(one_.change("DELETE FROM addresses WHERE id = 2"), 1);
    one_.change("COMMIT");
    two_.change("BEGIN");
    EXPECT_EQ(two_.change(bump), 0);
    two_.change("ROLLBACK");
  }

 private:
  static std::int64_t change(SqlSession& session, std::int64_t amount, std::int64_t version) {
    return session.change(
        example("change.sql", {{"id", 7}, {"amount", amount}, {"version", version}}));
  }
  static std::int64_t remove(SqlSession& session, std::int64_t version) {
    return session.change(example("remove.sql", {{"id", 7}, {"version", version}}));
  }
  static std::string discount(int discount, int version) {
    return "UPDATE customers SET discount = " + std::to_string(discount) +
           ", version = version + 1 WHERE id = 1 AND version = " + std::to_string(version);
  }
  static std::string still(int version) {
    return example("still.sql", {{"customer", 1}, {"customer_version", version}});
  }
  std::int64_t amount() { return one_.number(example("read.sql", {{"id", 7}})).value(); }
  void drop() {
    for (const char* table : {"addresses", "versions", "invoices", "customers"}) {
      one_.change(std::string("DROP TABLE IF EXISTS ") + table);
    }
  }

  SqlSession& one_;
  SqlSession& two_;
};

}  // namespace lockset::test
