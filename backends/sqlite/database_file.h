// The database as a file: made, checked, and watched, only by its path. It is never opened here:
// closing any descriptor of it would drop the locks that SQLite holds on it for the whole process.
#pragma once

#include <array>
#include <string>

#include "backends/sqlite/address.h"
#include "backends/sqlite/file_id.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// Makes a missing file (and the missing directories of the default path), follows symbolic links,
// and refuses a file that can't be a lock database. Returns the path to open, or
// Errc::misconfigured with one line. The owner may read and write a new file; so may its group if
// the directory's group is inherited (setgid).
Result<std::string> prepare_file(const Options& options);

// Notices if the database, or a file that belongs to it, was deleted or replaced while it was open:
// later writes are lost, and SQLite would not say so. Thread-safe after record().
class FileIdentity {
 public:
  // REQUIRES: the database was opened and read in WAL mode, so that its files exist.
  Status record(const std::string& path);
  // Errc::misconfigured if one of the files is no longer the recorded one.
  [[nodiscard]] Status check() const;

 private:
  struct File {
    std::string path;
    FileId id{};
  };
  std::array<File, 3> files_;
};

}  // namespace lockset::sqlite
