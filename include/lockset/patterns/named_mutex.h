// Names of a lock space as a mutex of the language: for std::scoped_lock, std::unique_lock and
// std::shared_lock. Semantics 23.
//
//   lockset::NamedMutex ledger(locks, {"ledger"});
//   std::scoped_lock lock(ledger);        // write, until the end of the scope
//   std::shared_lock reading(ledger);     // or read
//
// What the mutexes of the language can't express, and what happens instead:
// - A lock that is lost. The guard knows nothing of it: ask valid() before each step that must not
//   be done twice, or pass on lost(). unlock() of a lost lock says nothing.
// - Errors. They are thrown, as LockError with the errors of Locks::acquire. Only `timeout` is the
//   answer false of a timed call, and contention the answer false of a try.
// - A release that is not confirmed. unlock() says nothing of it: the hold ends with its lease.
// - Options. The lease and the label are those of the Locks (Options); lock() waits for ever, and
//   nothing cancels it. For more, use Locks::acquire and Hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"

namespace lockset LOCKSET_EXPORT {

// Satisfies Lockable, TimedLockable, SharedLockable and SharedTimedLockable. lock() takes all its
// names as write, lock_shared() all as read, each as one set. How many readers there may be, the
// permits say (semantics 6): with the default, one.
//
// As with std::shared_timed_mutex, the thread that locked unlocks. For work that changes its
// thread, use Hold. Several threads may use one NamedMutex, and each has its own hold; several
// NamedMutexes with the same names exclude each other as well, in this process and elsewhere.
//
// Thread-safety: all calls may come from any threads at once; make and destroy it in one. `locks`
// must outlive it. Destroying it releases what is still locked.
class NamedMutex {
 public:
  // Throws LockError (invalid) if the names make no lock set.
  NamedMutex(Locks& locks, std::vector<std::string> names);
  NamedMutex(const NamedMutex&) = delete;
  NamedMutex& operator=(const NamedMutex&) = delete;
  ~NamedMutex() = default;

  // Throws LockError; invalid also if this thread has locked it already: it would wait for itself.
  void lock();
  bool try_lock();
  void lock_shared();
  bool try_lock_shared();

  // REQUIRES: this thread has locked it, in this mode. Otherwise LockError (not_held) is thrown; in
  // the destructor of a guard that ends the program.
  void unlock();
  void unlock_shared();

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return take(Mode::write, in_range(time));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
    return take(Mode::read, in_range(time));
  }
  template <class SomeClock, class Time>
  bool try_lock_until(const std::chrono::time_point<SomeClock, Time>& moment) {
    return try_lock_for(moment - SomeClock::now());
  }
  template <class SomeClock, class Time>
  bool try_lock_shared_until(const std::chrono::time_point<SomeClock, Time>& moment) {
    return try_lock_shared_for(moment - SomeClock::now());
  }

  // About the calling thread's lock, as Hold::valid, Hold::stamp and Hold::lost. A thread that has
  // not locked it gets false, 0, and a token that never stops.
  [[nodiscard]] bool valid() const;
  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] std::stop_token lost() const;

 private:
  struct Locked {
    std::uint64_t thread;
    Mode mode;
    Hold hold;
  };

  template <class Rep, class Period>
  static Duration in_range(const std::chrono::duration<Rep, Period>& time) {
    using Seconds = std::chrono::duration<double>;
    if (Seconds(time) >= Seconds(forever)) return forever;
    if (Seconds(time) <= Seconds::zero()) return Duration::zero();
    return std::chrono::ceil<Duration>(time);
  }
  // False after the wait, or for a try (`wait` < 0) that met contention. Other errors are thrown.
  bool take(Mode mode, Duration wait);
  void give_back(Mode mode);
  // REQUIRES: mutex_.
  [[nodiscard]] const Locked* mine() const;

  Locks& locks_;
  LockSet write_;
  LockSet read_;
  mutable std::mutex mutex_;
  std::vector<Locked> locked_;
};

}  // namespace LOCKSET_EXPORT
