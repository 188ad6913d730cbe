// A session of an application that has tables of its own.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "tests/sqlite/database.h"
#include "tests/support/sql_example.h"

namespace lockset::test {

class OwnTables final : public SqlSession {
 public:
  explicit OwnTables(const std::string& path) : database_(made(path)) {}
  std::int64_t change(const std::string& sql) override { return database_.run(as_sqlite(sql)); }
  std::optional<std::int64_t> number(const std::string& sql) override {
    const auto rows = database_.texts(as_sqlite(sql));
    if (rows.empty()) return std::nullopt;
    return std::stoll(rows.at(0));
  }
  void be_impatient() override { database_.run("PRAGMA busy_timeout = 1000"); }

 private:
  // An empty file is a database without tables.
  static const std::string& made(const std::string& path) {
    const std::ofstream file(path, std::ios::app);
    return path;
  }
  // What the comments of the examples say about SQLite.
  static std::string as_sqlite(std::string sql) {
    if (sql == "BEGIN") return "BEGIN IMMEDIATE";
    for (const auto& [other, own] :
         {std::pair(" FOR UPDATE", ""), std::pair("GREATEST(", "max(")}) {
      const std::size_t at = sql.find(other);
      if (at != std::string::npos) sql.replace(at, std::string(other).size(), own);
    }
    return sql;
  }

  Database database_;
};

}  // namespace lockset::test
