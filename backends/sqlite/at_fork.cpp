#include "backends/sqlite/at_fork.h"

#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>

#include <array>
#include <chrono>
#include <cstddef>

#include "lockset/clock.h"

namespace lockset::sqlite {
namespace {

// SQLite's own mutexes; the others are for applications and their file systems.
constexpr std::array ids{SQLITE_MUTEX_STATIC_MASTER, SQLITE_MUTEX_STATIC_MEM,
                         SQLITE_MUTEX_STATIC_OPEN,   SQLITE_MUTEX_STATIC_PRNG,
                         SQLITE_MUTEX_STATIC_LRU,    SQLITE_MUTEX_STATIC_PMEM,
                         SQLITE_MUTEX_STATIC_VFS1};

// SQLite holds them only as long as it takes to look at a list. So this limit is reached only if
// the forking thread itself is inside one; waiting would then last for ever.
constexpr Duration patience = std::chrono::seconds(1);

std::array<sqlite3_mutex*, ids.size()> mutexes{};
// Per forking thread: two may fork at once, and one of them enters later.
thread_local bool entered = false;

void leave(std::size_t count) {
  while (count > 0) sqlite3_mutex_leave(mutexes[--count]);
}

// All or none, and without waiting for one while inside another: the order in which SQLite itself
// enters them may change.
bool try_enter_all() {
  for (std::size_t i = 0; i < mutexes.size(); ++i) {
    if (sqlite3_mutex_try(mutexes[i]) == SQLITE_OK) continue;
    leave(i);
    return false;
  }
  return true;
}

void enter_all() {
  const TimePoint until = BootClock::now() + patience;
  while (!(entered = try_enter_all()) && BootClock::now() < until) sched_yield();
}

void leave_all() {
  if (entered) leave(mutexes.size());
  entered = false;
}

}  // namespace

void keep_sqlite_whole_at_fork() {
  static const bool done = [] {
    for (std::size_t i = 0; i < ids.size(); ++i) mutexes[i] = sqlite3_mutex_alloc(ids[i]);
    return pthread_atfork(enter_all, leave_all, leave_all) == 0;
  }();
  static_cast<void>(done);
}

}  // namespace lockset::sqlite
