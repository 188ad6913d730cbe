// A connection to MySQL or MariaDB that bypasses the backend under test, for looking and changing.
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

// Used by one thread at a time. Every call throws an exception derived from std::exception on
// failure.
class RawMysql {
 public:
  using Row = std::vector<std::optional<std::string>>;

  // Which rows of an UPDATE ROW_COUNT() counts. The protocol's own way: changed.
  enum class Count { changed, found };

  // `url`: mysql://user:password@host:port/database; its parameters are ignored.
  explicit RawMysql(const std::string& url, Count count = Count::changed);
  RawMysql(const RawMysql&) = delete;
  RawMysql& operator=(const RawMysql&) = delete;
  ~RawMysql();

  // Runs one statement; returns the rows of its first result set.
  std::vector<Row> rows(const std::string& sql);
  // The single value of its answer.
  std::string value(const std::string& sql);
  std::int64_t number(const std::string& sql);
  // The server's error number, or 0.
  int code_of(const std::string& sql);

 private:
  std::unique_ptr<sql::Connection> connection_;
};

}  // namespace lockset::test
