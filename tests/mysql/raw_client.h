// A connection to MySQL or MariaDB past the backend under test, for looking and meddling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sql {
class Connection;
}

namespace lockset::test {

// Used by one thread at a time. Every call throws std::exception's kin when it fails.
class RawMysql {
 public:
  using Row = std::vector<std::optional<std::string>>;

  // `url`: mysql://user:password@host:port/database; its parameters are of no account.
  explicit RawMysql(const std::string& url);
  RawMysql(const RawMysql&) = delete;
  RawMysql& operator=(const RawMysql&) = delete;
  ~RawMysql();

  // Runs one statement; the rows of its first result set.
  std::vector<Row> rows(const std::string& sql);
  // The one value that it answers.
  std::string value(const std::string& sql);
  std::int64_t number(const std::string& sql);
  // The server's error number, or 0.
  int code_of(const std::string& sql);

 private:
  std::unique_ptr<sql::Connection> connection_;
};

}  // namespace lockset::test
