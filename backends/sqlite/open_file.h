// Which lock databases this process has open in SQLite, and which those had that it was forked
// from.
//
// SQLite keeps lists of its open files, of their locks and their shared memory for the whole
// process, and fork copies them. In the child it takes the parent's locks for its own: it asks the
// kernel for none, and nobody sees that the child works there. Whoever is then the last to close
// the file, by the kernel's word, removes the log under the child, and what the child was granted
// is granted again. SQLite can't be made to forget, so a child must not open such a file at all.
// One that was closed before the fork is in none of the lists.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>

#include "backends/sqlite/file_id.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// Says that a connection of this process has the file open. Noted before SQLite opens it, and
// destroyed after SQLite has closed it. Movable, not copyable; thread-safe, also against a fork by
// another thread.
class OpenFile {
 public:
  // Errc::misconfigured where an ancestor of this process had the file open when it forked.
  static Result<OpenFile> note(const std::string& path);

  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  // True in a child that was forked since: what is open there is the parent's.
  [[nodiscard]] bool of_an_ancestor() const { return noted_in_ != Process::present(); }
  // It could not be closed: it counts as open for ever.
  void keep() noexcept { counts_ = false; }

 private:
  struct Process {
    // The generation counts forks. The process id tells of those that pass the C library by; alone
    // it is not enough, for it comes again in a namespace of its own.
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
