// One SQLite connection with its prepared statements.
//
// The first failure of a statement is kept: every later statement does nothing and yields no row,
// until clear(). So the steps of a transaction need no error checks; the code that ends the
// transaction looks at code() once.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/sqlite/open_file.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::sqlite {

struct Blob {
  std::string_view bytes;
};
struct Text {
  std::string_view bytes;
};

class Db;

// A prepared statement in use; reset when destroyed. Bound values must live until then. A statement
// must not be used again while a Query for it exists.
class Query {
 public:
  Query(Db& db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { sqlite3_reset(statement_); }

  // Binds the parameters 1, 2, ... in this order.
  template <class... Values>
  Query& bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }

  // True: there is a row. False: it is done, or it failed.
  bool next();
  // For statements without rows.
  void run() {
    while (next()) {
    }
  }

  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const {
    if (is_null(column)) return {};
    return integer(column);
  }
  // Valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] std::string text(int column) const { return std::string(bytes(column)); }

 private:
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, const std::optional<std::int64_t>& value);
  void bind_one(int index, Blob value);
  void bind_one(int index, Text value);

  Db& db_;
  sqlite3_stmt* statement_;
};

// Not thread-safe; may move between threads.
class Db {
 public:
  Db() = default;
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;
  // Closes the file; but not in a child that was forked since it was opened, because the parent has
  // it open.
  ~Db();

  // Opens an existing file. Errc::misconfigured if this process must not open it in SQLite
  // (OpenFile::note). A failure of SQLite is kept, as that of a statement is.
  Status open(const std::string& path);

  // `sql` is a literal: its address names the prepared statement.
  Query use(const char* sql);
  // For statements that are needed once; several are separated by semicolons.
  void execute(const std::string& sql);

  // From now on SQLite itself waits until `by` for a lock.
  void wait_until(TimePoint by);

  // SQLITE_OK, or the first failure's extended code.
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  void clear() noexcept { code_ = SQLITE_OK; }

  [[nodiscard]] sqlite3* handle() noexcept { return handle_; }
  // Rows changed by the last statement, and by all statements since the connection was opened.
  [[nodiscard]] int changes() noexcept { return sqlite3_changes(handle_); }
  [[nodiscard]] int total_changes() noexcept { return sqlite3_total_changes(handle_); }
  [[nodiscard]] bool in_transaction() noexcept { return sqlite3_get_autocommit(handle_) == 0; }

 private:
  friend class Query;
  void note(int code);

  std::vector<OpenFile> files_;
  sqlite3* handle_ = nullptr;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
  int code_ = SQLITE_OK;
  std::string message_;
};

}  // namespace lockset::sqlite
