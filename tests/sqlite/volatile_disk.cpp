#include "tests/sqlite/volatile_disk.h"

#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>

namespace lockset::test {
namespace {

namespace fs = std::filesystem;

std::string copy_of(const std::string& file) { return file + ".synced"; }

// SQLite's own methods, with one replaced. An open file is told by its address.
struct Shim {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::mutex mutex;
  std::map<sqlite3_file*, std::string> paths;
  // By the address of SQLite's table.
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods;
  std::map<const sqlite3_io_methods*, const sqlite3_io_methods*> originals;
  std::atomic<std::int64_t> syncs{0};
};

Shim& shim() {
  static Shim only;
  return only;
}

int sync_and_keep(sqlite3_file* file, int flags) {
  const std::lock_guard lock(shim().mutex);
  const int code = shim().originals.at(file->pMethods)->xSync(file, flags);
  if (code != SQLITE_OK) return code;
  ++shim().syncs;
  const std::string& path = shim().paths.at(file);
  fs::copy_file(path, copy_of(path), fs::copy_options::overwrite_existing);
  return SQLITE_OK;
}

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out) {
  const int code = shim().real->xOpen(shim().real, path, file, flags, out);
  if (file->pMethods == nullptr || path == nullptr) return code;
  const std::lock_guard lock(shim().mutex);
  const auto [found, fresh] = shim().methods.try_emplace(file->pMethods, *file->pMethods);
  if (fresh) {
    found->second.xSync = &sync_and_keep;
    shim().originals[&found->second] = file->pMethods;
  }
  shim().paths[file] = path;
  file->pMethods = &found->second;
  return code;
}

int delete_file(sqlite3_vfs*, const char* path, int sync) {
  std::error_code ignored;
  fs::remove(copy_of(path), ignored);
  return shim().real->xDelete(shim().real, path, sync);
}

}  // namespace

void keep_what_is_synced() {
  sqlite3_initialize();
  shim().real = sqlite3_vfs_find(nullptr);
  shim().vfs = *shim().real;
  shim().vfs.zName = "volatile";
  shim().vfs.xOpen = &open_file;
  shim().vfs.xDelete = &delete_file;
  if (sqlite3_vfs_register(&shim().vfs, 1) != SQLITE_OK) throw std::runtime_error("no shim");
}

std::int64_t syncs() { return shim().syncs; }

void cut_power(const std::string& database) {
  fs::remove(database + "-shm");
  for (const std::string& file : {database, database + "-wal"}) {
    if (fs::exists(copy_of(file))) {
      fs::rename(copy_of(file), file);
    } else if (file != database) {
      fs::remove(file);
    }
  }
}

std::int64_t synced_log(const std::string& database) {
  const std::string copy = copy_of(database + "-wal");
  return fs::exists(copy) ? static_cast<std::int64_t>(fs::file_size(copy)) : 0;
}

}  // namespace lockset::test
