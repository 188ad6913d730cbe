#include "tests/conformance/sqlite_harness.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>

#include "lockset/registry.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

using Handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Handle open_file(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  Handle handle(raw, &sqlite3_close);
  if (code != SQLITE_OK) throw std::runtime_error("can't look into " + path);
  sqlite3_busy_timeout(raw, 10000);
  return handle;
}

std::string bytes(sqlite3_stmt* row, int column) {
  const void* data = sqlite3_column_blob(row, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

// One row per name and hold, in one statement, so that it is one state of the store. A row of
// either table without its counterpart in the other shows as NULLs.
constexpr const char* all_rows = R"(
  SELECT h.stamp, h.app, n.name, n.mode, length(h.items)
    FROM holds h LEFT JOIN hold_names n ON n.stamp = h.stamp
  UNION ALL
  SELECT NULL, NULL, n.name, n.mode, 0
    FROM hold_names n WHERE n.stamp NOT IN (SELECT stamp FROM holds))";

std::vector<RawHold> look_into(const std::string& path) {
  const Handle handle = open_file(path);
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle.get(), all_rows, -1, &raw, nullptr) != SQLITE_OK) {
    throw std::runtime_error(std::string("can't look: ") + sqlite3_errmsg(handle.get()));
  }
  const Statement row(raw, &sqlite3_finalize);
  std::map<Stamp, RawHold> holds;
  std::map<Stamp, std::size_t> packed_sizes;
  int code = SQLITE_OK;
  while ((code = sqlite3_step(row.get())) == SQLITE_ROW) {
    if (sqlite3_column_type(row.get(), 0) == SQLITE_NULL) {
      throw std::runtime_error("the name " + in_quotes(bytes(row.get(), 2)) +
                               " of a hold that is gone");
    }
    const Stamp stamp{sqlite3_column_int64(row.get(), 0)};
    RawHold& hold = holds[stamp];
    hold.stamp = stamp;
    hold.app = bytes(row.get(), 1);
    packed_sizes[stamp] = static_cast<std::size_t>(sqlite3_column_int64(row.get(), 4));
    if (sqlite3_column_type(row.get(), 2) == SQLITE_NULL) {
      throw std::runtime_error("the hold " + std::to_string(stamp.value) + " has no names");
    }
    const Mode mode = sqlite3_column_int64(row.get(), 3) == 1 ? Mode::write : Mode::read;
    hold.items.push_back({bytes(row.get(), 2), mode});
  }
  if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(handle.get()));
  std::vector<RawHold> result;
  for (auto& [stamp, hold] : holds) {
    std::sort(hold.items.begin(), hold.items.end());
    // The set is recorded in two places; both must agree.
    std::size_t size = 0;
    for (const LockRequest& item : hold.items) size += 2 + item.name.size();
    if (size != packed_sizes[stamp]) {
      throw std::runtime_error("the two forms of hold " + std::to_string(stamp.value) + " differ");
    }
    result.push_back(std::move(hold));
  }
  return result;
}

class SqliteSpace final : public Space {
 public:
  SqliteSpace() : folder_(std::filesystem::temp_directory_path() / "lockset-conformance-XXXXXX") {
    std::string path = folder_.string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = path;
    // Makes the database now, so that look() has something to look into.
    (void)open().value();
  }
  ~SqliteSpace() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return "sqlite:" + file(); }
  std::vector<RawHold> look() override { return look_into(file()); }

 private:
  [[nodiscard]] std::string file() const { return (folder_ / "locks.db").string(); }
  std::filesystem::path folder_;
};

class SqliteHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "sqlite"; }
  [[nodiscard]] std::string scheme() const override { return "sqlite"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.looks_raw = true, .opens_after_fork = false};
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<SqliteSpace>(); }
};

}  // namespace

Harness& sqlite_harness() {
  static SqliteHarness harness;
  return harness;
}

}  // namespace lockset::conformance
