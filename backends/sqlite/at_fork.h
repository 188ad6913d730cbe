// Keeps SQLite's process-wide state usable in a forked child.
#pragma once

namespace lockset::sqlite {

// After the first call, no thread is inside one of SQLite's process-wide mutexes when another
// thread forks. Otherwise the child, which does not have that thread, would find the mutex locked
// for ever and hang in its first call of SQLite, for any file. Thread-safe.
void keep_sqlite_whole_at_fork();

}  // namespace lockset::sqlite
