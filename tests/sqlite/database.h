// A lock database as SQLite shows it, past the code under test: what a test reads in it, and
// changes.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockset::test {

// One thread.
class Database {
 public:
  explicit Database(const std::string& path) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
    db_.reset(raw);
    if (code != SQLITE_OK) throw std::runtime_error("can't look into " + path);
    sqlite3_busy_timeout(raw, 10000);
  }

  // Rows that are changed by it.
  int run(const std::string& sql) {
    char* text = nullptr;
    if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, &text) != SQLITE_OK) {
      const std::string why = text == nullptr ? "unknown" : text;
      sqlite3_free(text);
      throw std::runtime_error(sql + ": " + why);
    }
    return sqlite3_changes(db_.get());
  }
  // The first column.
  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> result;
    const auto collect = [](void* to, int, char** values, char**) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(values[0] ? values[0] : "NULL");
      return 0;
    };
    if (sqlite3_exec(db_.get(), sql.c_str(), collect, &result, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_.get()));
    }
    return result;
  }
  std::int64_t number(const std::string& sql) { return std::stoll(texts(sql).at(0)); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace lockset::test
