// A session of an application that has tables of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/postgresql/fixture.h"
#include "tests/support/sql_example.h"

namespace lockset::postgresql_tests {

class OwnTables final : public test::SqlSession {
 public:
  OwnTables() { session_.run("SET client_min_messages = warning"); }
  std::int64_t change(const std::string& sql) override {
    return static_cast<std::int64_t>(session_.run(sql).affected_rows());
  }
  std::optional<std::int64_t> number(const std::string& sql) override {
    const pqxx::result rows = session_.run(sql);
    if (rows.empty()) return std::nullopt;
    return rows[0][0].as<std::int64_t>();
  }
  void be_impatient() override { session_.run("SET lock_timeout = '1s'"); }

 private:
  Session session_;
};

}  // namespace lockset::postgresql_tests
