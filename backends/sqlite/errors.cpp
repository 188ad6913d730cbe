#include "backends/sqlite/errors.h"

#include <sqlite3.h>

#include "core/shortage.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {

Error error_from(int code, const std::string& native, const std::string& path, Phase phase) {
  const std::string file = "the lock database " + in_quotes(path);
  const std::string said = " (SQLite: " + native + ", code " + std::to_string(code) + ")";
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Error{Errc::unavailable,
                   file + " stayed locked by another process until the deadline; is one of its " +
                       "users stopped, or a sqlite3 shell left inside a transaction?" + said};
    case SQLITE_FULL:
      // The commit mark is written last: without it no change counts.
      return Error{Errc::unavailable, "no space is left on the disk of " + file +
                                          "; nothing was applied: free some" + said};
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
      if (phase == Phase::commit) break;
      return Error{Errc::unavailable, file + " could not be used now" + said};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Error{Errc::misconfigured,
                   file + " can't be written by this user: give it write permission on the file, " +
                       "its -wal, -shm and -gate files and their directory" + said};
    case SQLITE_CANTOPEN:
      // SQLite reports this as it reports any file that can't be opened.
      if (no_descriptor_left()) {
        return Error{Errc::unavailable, file + " can't be opened: this process has no file " +
                                            "descriptor left; raise the limit (ulimit -n)" + said};
      }
      return Error{Errc::misconfigured,
                   file + " can't be opened: check that its directory exists and that this user " +
                       "may write there" + said};
    case SQLITE_NOTADB:
      return Error{Errc::misconfigured, in_quotes(path) +
                                            " is not a SQLite database: name another " +
                                            "file, or move it away to have a new one made" + said};
    case SQLITE_CORRUPT:
      return Error{Errc::misconfigured,
                   file +
                       " is damaged: stop its users, move it and its -wal and -shm files away, " +
                       "wait for the space's max lease, and start again with a new one" + said};
    case SQLITE_IOERR:
      if (phase == Phase::commit) break;
      return Error{
          Errc::unavailable,
          file + " could not be read or written; nothing was applied: see the kernel log, and " +
              "the limit on the size of files (ulimit -f)" + said};
    default:
      if (phase == Phase::commit) break;
      return Error{Errc::internal, file + " gave an unexpected answer" + said};
  }
  return Error{Errc::indeterminate,
               file + " failed during a commit, which may or may not survive" + said};
}

}  // namespace lockset::sqlite
