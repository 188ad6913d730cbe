#include "backends/sqlite/doctor.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "backends/findings.h"
#include "backends/sqlite/connection.h"
#include "backends/sqlite/database_file.h"
#include "backends/sqlite/errors.h"
#include "backends/sqlite/file_system.h"
#include "backends/sqlite/schema.h"
#include "backends/sqlite/store_clock.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {
namespace {

using namespace findings;
using Findings = std::vector<Finding>;

Finding no_space_yet(const std::string& what) {
  return no_space(Level::warning, what + ": the first program that opens it makes it");
}

// The nearest existing directory: those of the default path may still be missing.
std::filesystem::path nearest_directory(std::filesystem::path directory) {
  std::error_code ignored;
  while (directory.has_relative_path() && !std::filesystem::exists(directory, ignored)) {
    directory = directory.parent_path();
  }
  return directory;
}

Finding look_at_file_system(const std::string& directory) {
  if (Status status = check_file_system(directory); !status) {
    return unsafe("file system", status.error().message);
  }
  return good("file system", in_quotes(directory) + " is on a local one");
}

Finding look_at_free_space(const std::string& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) {
    return unreadable(Level::warning, "free space", std::strerror(errno));
  }
  constexpr std::uint64_t mega = std::uint64_t{1000} * 1000;
  // Several times the size to which SQLite's log may grow.
  constexpr std::uint64_t little = 100;
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize / mega;
  const bool no_files_left = info.f_files > 0 && info.f_favail == 0;
  const std::string text = std::to_string(free) + " MB";
  return good_if(free >= little && !no_files_left, Level::warning, "free space", text,
                 (no_files_left ? "no inodes are left" : text) +
                     ": on a full disk nothing is granted or released; free some");
}

// Who may write to the file.
Finding look_at_permissions(const std::string& path, const struct stat& file) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  struct stat parent {};
  if (::stat(directory.c_str(), &parent) != 0) parent = {};
  for (const std::string& each : {path, directory}) {
    if (::access(each.c_str(), each == path ? R_OK | W_OK : R_OK | W_OK | X_OK) != 0) {
      return unsafe("permissions", in_quotes(each) + " can't be read and written by this user: " +
                                       std::strerror(errno) + "; change its owner or mode");
    }
  }
  if ((file.st_mode & S_IWOTH) != 0) {
    return warning("permissions", "everybody may change the holds: chmod o-w " + in_quotes(path));
  }
  if ((parent.st_mode & S_IWOTH) != 0 && (parent.st_mode & S_ISVTX) == 0) {
    return warning("permissions",
                   "everybody may delete or replace the file: chmod o-w " + in_quotes(directory));
  }
  const bool shared = (file.st_mode & S_IWGRP) != 0;
  return good("permissions", std::string(shared ? "its owner and its group" : "its owner alone") +
                                 " may write it, and so may do everything, as operators");
}

Finding look_at_durability(const Options& options) {
  if (!StoreClock::make().knows_boot()) {
    return good(
        "durability",
        "full: every answer outlives a power cut, because this host does not tell its boots "
        "apart");
  }
  return good("durability", options.sync_all
                                ? "full: every answer outlives a power cut"
                                : "lease: what outlives its process outlives a power cut, too");
}

Finding look_at_version() {
  const std::string version = std::string("SQLite ") + sqlite3_libversion();
  return good_if(sqlite3_libversion_number() >= SQLITE_VERSION_NUMBER, Level::warning, "version",
                 version,
                 version + " is older than " + SQLITE_VERSION +
                     ", for which this program was built; install that one");
}

// The content of the file. An error if it can't be read now.
Result<Findings> look_into(const std::string& path, TimePoint by) {
  Db db;
  if (Status status = db.open(path); !status) {
    return Findings{unsafe("space", status.error().message)};
  }
  db.wait_until(by);
  const Result<bool> ours = is_lock_space(db, path);
  if (!ours) {
    if (ours.error().code == Errc::unavailable) return ours.error();
    return Findings{unsafe("space", ours.error().message)};
  }
  if (!*ours) return Findings{no_space_yet(in_quotes(path) + " is empty")};
  std::string mode;
  {
    Query query = db.use("PRAGMA journal_mode");
    if (query.next()) mode = query.text(0);
  }
  if (db.code() != SQLITE_OK) return error_from(db.code(), db.message(), path, Phase::open);
  return Findings{good("space", in_quotes(path)),
                  good_if(mode == "wal", Level::warning, "journal mode", mode,
                          mode + ", not wal: somebody changed it; the next program that opens the "
                                 "database changes it back")};
}

void append(Findings& findings, Findings more) {
  for (Finding& each : more) findings.push_back(std::move(each));
}

}  // namespace

Result<Findings> examine(const Options& options, TimePoint by) {
  std::error_code failed;
  const std::string path = std::filesystem::weakly_canonical(options.path, failed).string();
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = nearest_directory(parent).string();
  struct stat file {};
  const bool missing = failed || ::stat(path.c_str(), &file) != 0;

  Findings findings;
  if (missing && directory != parent && !options.default_path) {
    findings.push_back(
        no_space(Level::unsafe, "the directory of " + in_quotes(path) +
                                    " is missing: make it with mkdir -p, or name another file"));
  } else if (missing && ::access(directory.c_str(), W_OK | X_OK) != 0) {
    findings.push_back(no_space(
        Level::unsafe, in_quotes(path) + " is not there, and this user can't make it in " +
                           in_quotes(directory) + ": " + std::strerror(errno) +
                           "; change the directory's owner or mode, or name another file"));
  } else if (missing) {
    findings.push_back(no_space_yet(in_quotes(path) + " is not there yet"));
  } else if (const Result<std::string> fit = prepare_file(options); !fit) {
    // It makes missing files, but none is missing.
    findings.push_back(unsafe("space", fit.error().message));
    return findings;
  } else {
    const Finding permissions = look_at_permissions(path, file);
    if (permissions.level != Level::unsafe) {
      Result<Findings> inside = look_into(path, by);
      if (!inside) return inside.error();
      append(findings, *std::move(inside));
    }
    findings.push_back(permissions);
  }
  findings.push_back(look_at_file_system(directory));
  findings.push_back(look_at_durability(options));
  findings.push_back(look_at_free_space(directory));
  findings.push_back(look_at_version());
  return findings;
}

}  // namespace lockset::sqlite
