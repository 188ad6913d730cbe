// A session of an application that has tables of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/mysql/raw_client.h"
#include "tests/support/sql_example.h"

namespace lockset::mysql_tests {

class OwnTables final : public test::SqlSession {
 public:
  explicit OwnTables(std::unique_ptr<test::RawMysql> session) : session_(std::move(session)) {}
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
  std::unique_ptr<test::RawMysql> session_;
};

}  // namespace lockset::mysql_tests
