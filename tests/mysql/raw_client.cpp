#include "tests/mysql/raw_client.h"

#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <mysql_connection.h>
#include <mysql_driver.h>

#include <mutex>
#include <stdexcept>

#include "lockset/url.h"

namespace lockset::test {
namespace {

sql::Driver& driver() {
  static std::once_flag once;
  static sql::Driver* instance = nullptr;
  std::call_once(once, [] { instance = sql::mysql::get_driver_instance(); });
  return *instance;
}

}  // namespace

RawMysql::RawMysql(const std::string& url, Count count) {
  const Url parsed = Url::parse(url).value();
  const std::size_t colon = parsed.hosts.rfind(':');
  sql::ConnectOptionsMap map;
  map["hostName"] = sql::SQLString("tcp://" + parsed.hosts.substr(0, colon));
  map["port"] = std::stoi(parsed.hosts.substr(colon + 1));
  map["userName"] = sql::SQLString(parsed.user);
  map["password"] = sql::SQLString(parsed.password);
  map["schema"] = sql::SQLString(parsed.path.substr(1));
  map["OPT_CHARSET_NAME"] = sql::SQLString("utf8mb4");
  map["CLIENT_FOUND_ROWS"] = count == Count::found;
  connection_.reset(driver().connect(map));
  rows("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  rows("SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = 20");
}

RawMysql::~RawMysql() = default;

std::vector<RawMysql::Row> RawMysql::rows(const std::string& sql) {
  const std::unique_ptr<sql::Statement> statement(connection_->createStatement());
  std::vector<Row> found;
  bool has_rows = statement->execute(sql);
  for (bool first = true;; first = false) {
    if (has_rows) {
      const std::unique_ptr<sql::ResultSet> set(statement->getResultSet());
      const unsigned columns = set->getMetaData()->getColumnCount();
      while (first && set->next()) {
        Row& row = found.emplace_back();
        for (unsigned i = 1; i <= columns; ++i) {
          const sql::SQLString value = set->getString(i);
          row.emplace_back(set->wasNull() ? std::nullopt : std::optional(value.asStdString()));
        }
      }
    } else if (statement->getUpdateCount() == static_cast<std::uint64_t>(-1)) {
      return found;
    }
    has_rows = statement->getMoreResults();
  }
}

std::string RawMysql::value(const std::string& sql) {
  const std::vector<Row> found = rows(sql);
  if (found.size() != 1 || found.front().empty()) throw std::runtime_error("no value: " + sql);
  return found.front().front().value_or("");
}

std::int64_t RawMysql::number(const std::string& sql) { return std::stoll(value(sql)); }

int RawMysql::code_of(const std::string& sql) {
  try {
    rows(sql);
    return 0;
  } catch (const sql::SQLException& error) {
    return error.getErrorCode();
  }
}

}  // namespace lockset::test
