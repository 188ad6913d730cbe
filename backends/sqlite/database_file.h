// The database as a file: made, checked, and watched, by its path alone. It is
// never opened here: closing any descriptor of it would drop the locks that SQLite
// holds on it for the whole process.
#pragma once

#include <array>
#include <string>

#include "backends/sqlite/address.h"
#include "backends/sqlite/file_id.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// Makes a missing file (and the missing directories of the default path), follows
// symbolic links, and refuses what can't be a lock database: the path to open, or
// one line in Errc::misconfigured. A new file may be read and written by its owner,
// and by its group if the directory's group is inherited (setgid).
Result<std::string> prepare_file(const Options& options);

// Notices when the database, or a file that belongs to it, was deleted or replaced
// while it was open: what is written then is lost, and SQLite would not say so.
// Thread-safe after record().
class FileIdentity {
 public:
  // REQUIRES: the database was opened and read in WAL mode, so that its files are there.
  Status record(const std::string& path);
  // Errc::misconfigured if one of the files isn't the recorded one any more.
  [[nodiscard]] Status check() const;

 private:
  struct File {
    std::string path;
    FileId id{};
  };
  std::array<File, 3> files_;
};

}  // namespace lockset::sqlite
