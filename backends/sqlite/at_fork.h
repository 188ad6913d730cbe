// What of SQLite is for the whole process has to be whole in a forked child.
#pragma once

namespace lockset::sqlite {

// From the first call on, no thread is inside one of SQLite's process-wide mutexes when another
// thread forks. Else the child, which does not have that thread, finds the mutex locked for ever
// and hangs in its first call of SQLite, whichever file it is about. Thread-safe.
void keep_sqlite_whole_at_fork();

}  // namespace lockset::sqlite
