// The lock databases that this process has open in SQLite, and those that its ancestors had open
// when they forked.
//
// SQLite keeps lists of its open files, of their locks and their shared memory for the whole
// process, and fork copies them. In the child SQLite takes the parent's locks for its own: it asks
// the kernel for none, and no other process sees that the child works there. The process that then
// is, in the kernel's view, the last to close the file removes the log under the child, and what
// the child was granted is granted again. SQLite can't be made to forget, so a child must not open
// such a file at all. A file that was closed before the fork is in none of the lists.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>

#include "backends/sqlite/file_id.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// Records that a connection of this process has the file open. Make it before SQLite opens the
// file, and destroy it after SQLite has closed it. Movable, not copyable; thread-safe, also against
// a fork by another thread.
class OpenFile {
 public:
  // Errc::misconfigured if an ancestor of this process had the file open when it forked.
  static Result<OpenFile> note(const std::string& path);

  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  // True in a child that was forked since: the open file is the parent's.
  [[nodiscard]] bool of_an_ancestor() const { return noted_in_ != Process::present(); }
  // The file could not be closed: it counts as open for ever.
  void keep() noexcept { counts_ = false; }

 private:
  struct Process {
    // The generation counts forks. The process id detects forks that bypass the C library. It is
    // not enough alone, because it can appear again in another pid namespace.
    std::uint64_t generation;
    pid_t id;

    static Process present();
    auto operator<=>(const Process&) const = default;
  };
  class Notes;

  explicit OpenFile(const FileId& file) : file_(file), noted_in_(Process::present()) {}

  FileId file_;
  Process noted_in_;
  bool counts_ = true;
};

}  // namespace lockset::sqlite
