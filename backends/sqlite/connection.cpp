#include "backends/sqlite/connection.h"

#include <algorithm>
#include <chrono>

#include "backends/sqlite/at_fork.h"

namespace lockset::sqlite {

bool Query::next() {
  if (db_.code() != SQLITE_OK || statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_.note(code);
  return false;
}

std::string_view Query::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Query::bind_one(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
}

void Query::bind_one(int index, const std::optional<std::int64_t>& value) {
  if (value) {
    sqlite3_bind_int64(statement_, index, *value);
  } else {
    sqlite3_bind_null(statement_, index);
  }
}

// A null pointer would bind NULL, so the empty value needs an address, too.
void Query::bind_one(int index, Blob value) {
  sqlite3_bind_blob(statement_, index, value.bytes.empty() ? "" : value.bytes.data(),
                    static_cast<int>(value.bytes.size()), SQLITE_STATIC);
}

void Query::bind_one(int index, Text value) {
  sqlite3_bind_text(statement_, index, value.bytes.empty() ? "" : value.bytes.data(),
                    static_cast<int>(value.bytes.size()), SQLITE_STATIC);
}

Db::~Db() {
  for (const OpenFile& file : files_) {
    if (file.of_an_ancestor()) return;
  }
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  if (sqlite3_close(handle_) == SQLITE_OK) return;
  for (OpenFile& file : files_) file.keep();
}

Status Db::open(const std::string& path) {
  Result<OpenFile> wanted = OpenFile::note(path);
  if (!wanted) return wanted.error();
  files_.push_back(*std::move(wanted));
  keep_sqlite_whole_at_fork();
  // No SQLITE_OPEN_URI: a path is not parsed as a URI. NOMUTEX: a TurnQueue orders the callers.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    note(code);
    return {};
  }
  sqlite3_extended_result_codes(handle_, 1);
  // SQLite may have opened another file: one that replaced the first, or the copy that an overlay
  // file system makes for writing.
  Result<OpenFile> opened = OpenFile::note(path);
  if (!opened) return opened.error();
  files_.push_back(*std::move(opened));
  return {};
}

Query Db::use(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr && code_ == SQLITE_OK) {
    const int code =
        sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) note(code);
  }
  return Query(*this, statement);
}

void Db::execute(const std::string& sql) {
  if (code_ != SQLITE_OK) return;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) note(code);
}

void Db::wait_until(TimePoint by) {
  using std::chrono::milliseconds;
  const Duration left =
      std::clamp<Duration>(by - BootClock::now(), Duration::zero(), std::chrono::hours(24));
  sqlite3_busy_timeout(handle_,
                       static_cast<int>(std::chrono::duration_cast<milliseconds>(left).count()));
}

void Db::note(int code) {
  if (code_ != SQLITE_OK) return;
  code_ = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : code;
  if (code_ == SQLITE_OK || code_ == SQLITE_ROW || code_ == SQLITE_DONE) code_ = code;
  message_ = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
}

}  // namespace lockset::sqlite
