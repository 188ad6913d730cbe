// The SQL of docs/fencing.md, and what every SQL server has to make of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "tests/support/sql_example.h"

namespace lockset::test {

// Two sessions, two resources: an account that keeps stamps, and an export that keeps floors.
class Fencing {
 public:
  Fencing(SqlSession& one, SqlSession& two) : one_(one), two_(two) {
    drop();
    one_.change(
        "CREATE TABLE accounts (name BIGINT PRIMARY KEY, balance INTEGER NOT NULL, "
        "fence BIGINT NOT NULL DEFAULT 0)");
    one_.change(
        "CREATE TABLE exports (id BIGINT PRIMARY KEY, part INTEGER NOT NULL, "
        "floor BIGINT NOT NULL DEFAULT 0)");
    one_.change("INSERT INTO accounts (name, balance) VALUES (1, 100)");
    one_.change("INSERT INTO exports (id, part) VALUES (1, 0)");
  }
  Fencing(const Fencing&) = delete;
  Fencing& operator=(const Fencing&) = delete;
  ~Fencing() { drop(); }

  void a_stale_stamp_changes_nothing() {
    EXPECT_EQ(add(one_, 10, 34), 1);
    EXPECT_EQ(add(one_, 10, 34), 1);  // a holder may write again
    EXPECT_EQ(add(two_, 999, 33), 0);
    EXPECT_EQ(balance(), 120);
    EXPECT_EQ(add(two_, 1, 35), 1);
    EXPECT_EQ(add(one_, 999, 34), 0);
    EXPECT_EQ(balance(), 121);
  }

  // Many times, a stale holder and the next one write at the same moment: the comparison and the
  // write are one step, so what the next one wrote is always the last.
  void a_race_is_won_by_the_later_holder() {
    for (int round = 1; round <= 100; ++round) {
      const int stale = 10 * round;
      const int next = stale + 1;
      std::thread other([&] { put(two_, stale, stale, stale); });
      EXPECT_EQ(put(one_, next, next, next), 1);
      other.join();
      ASSERT_EQ(one_.number("SELECT part FROM exports"), next);
    }
  }

  // The table of the page.
  void readers_share_until_one_is_lost() {
    EXPECT_EQ(put(one_, 1, 33, 33), 1);  // reader A
    EXPECT_EQ(put(two_, 2, 34, 33), 1);  // reader B, while A holds
    EXPECT_EQ(put(one_, 3, 33, 33), 1);  // both go on
    EXPECT_EQ(put(two_, 4, 35, 34), 1);  // reader C, after A was lost
    EXPECT_EQ(put(one_, 9, 33, 33), 0);  // A wakes up
    EXPECT_EQ(put(two_, 5, 34, 33), 1);  // B still holds; its old floor lowers nothing
    EXPECT_EQ(one_.number("SELECT floor FROM exports"), 34);
    EXPECT_EQ(put(one_, 6, 36, 36), 1);  // an exclusive holder
    EXPECT_EQ(put(two_, 9, 34, 33), 0);
    EXPECT_EQ(put(two_, 9, 35, 34), 0);
    EXPECT_EQ(one_.number("SELECT part FROM exports"), 6);
  }

  // The row count of a holder's second write, which changes nothing.
  std::int64_t the_same_write_again() {
    EXPECT_EQ(put(one_, 1, 33, 33), 1);
    return put(one_, 1, 33, 33);
  }

 private:
  static std::string page(const std::string& block) {
    return std::string(LOCKSET_PAGES) + "/fencing/" + block;
  }
  static std::int64_t add(SqlSession& session, std::int64_t amount, std::int64_t stamp) {
    return session.change(
        sql_in(page("in-sql.sql"), {{"name", 1}, {"amount", amount}, {"stamp", stamp}}));
  }
  static std::int64_t put(SqlSession& session, std::int64_t part, std::int64_t stamp,
                          std::int64_t floor) {
    return session.change(sql_in(page("readers-and-several-writers.sql"),
                                 {{"id", 1}, {"part", part}, {"stamp", stamp}, {"floor", floor}}));
  }
  std::int64_t balance() { return one_.number("SELECT balance FROM accounts").value(); }
  void drop() {
    for (const char* table : {"accounts", "exports"}) {
      one_.change(std::string("DROP TABLE IF EXISTS ") + table);
    }
  }

  SqlSession& one_;
  SqlSession& two_;
};

}  // namespace lockset::test
