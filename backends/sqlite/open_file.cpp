#include "backends/sqlite/open_file.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/fork_guard.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {

OpenFile::Process OpenFile::Process::present() { return {fork_generation(), ::getpid()}; }

// All files that count, each with the process that noted it: a child's copy keeps its ancestors'
// files.
class OpenFile::Notes {
 public:
  // Never destroyed: a program's static objects may be destroyed later than this.
  static Notes& get() {
    static Notes& notes = []() -> Notes& {
      static auto* const made = new Notes;
      // So that a child finds it unlocked and consistent, whatever other threads did at that
      // moment.
      pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); },
                     [] { made->mutex_.unlock(); });
      return *made;
    }();
    return notes;
  }

  // False if an ancestor has it open.
  bool add(const OpenFile& file) {
    const std::lock_guard lock(mutex_);
    std::map<Process, std::size_t>& openers = openers_[file.file_];
    for (const auto& [process, count] : openers) {
      if (process != file.noted_in_) return false;
    }
    ++openers[file.noted_in_];
    return true;
  }

  void remove(const OpenFile& file) {
    const std::lock_guard lock(mutex_);
    const auto openers = openers_.find(file.file_);
    const auto mine = openers->second.find(file.noted_in_);
    if (--mine->second > 0) return;
    openers->second.erase(mine);
    if (openers->second.empty()) openers_.erase(openers);
  }

 private:
  std::mutex mutex_;
  std::map<FileId, std::map<Process, std::size_t>> openers_;
};

Result<OpenFile> OpenFile::note(const std::string& path) {
  const std::string database = "the lock database " + in_quotes(path);
  FileId id;
  if (!id.find(path)) {
    return Error{Errc::misconfigured, database + " can't be used: " + std::strerror(errno)};
  }
  OpenFile file(id);
  if (!Notes::get().add(file)) {
    file.counts_ = false;
    return Error{Errc::misconfigured,
                 database +
                     " was open when this process was forked, and SQLite can't lock it in both "
                     "processes: open it only after the fork, or close it before, or have the "
                     "child exec a new program"};
  }
  return file;
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : file_(other.file_),
      noted_in_(other.noted_in_),
      counts_(std::exchange(other.counts_, false)) {}

OpenFile::~OpenFile() {
  if (counts_ && !of_an_ancestor()) Notes::get().remove(*this);
}

}  // namespace lockset::sqlite
