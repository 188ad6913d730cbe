// Pessimistic offline locks: a person edits a record over several requests, and nobody else does
// meanwhile. Semantics 26. The owner is the person's session, the lease is its time-out.
//
//   lockset::UserSessions sessions(locks, {.timeout = 10min});
//   const lockset::UserSession alice{"alice", "8f3a"};
//
//   exclusive write: before editing; showing takes nothing
//     sessions.take(alice, {write("invoice/7")})
//   exclusive read: the same before loading, also to show
//   read/write: before showing {read("invoice/7")}, before editing {write("invoice/7")};
//     with `lockset permits set '*' --read 1000`, so that many may look
//   at each request of the session: sessions.touch(alice)
//   at its end: sessions.release_all(alice)
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

// Together the owner of holds; other people see both. So `id` is one that may be seen, never the
// secret of a cookie, and each session has another.
struct UserSession {
  std::string user;
  std::string id;

  // "alice (session 8f3a)": the label of its holds.
  [[nodiscard]] std::string label() const;
};

// Somebody else has been editing.
struct EditConflict {
  // The holds in the way; empty if they ended just now, or waiters come first: try again soon.
  std::vector<HoldInfo> holds;

  // For people: `"invoice/7" is locked by alice (session 8f3a) since 2026-11-23 09:30:05 UTC`.
  // One line for each name and hold.
  [[nodiscard]] std::string text() const;
};

using EditOutcome = std::variant<Stamp, EditConflict>;

// Locks for sessions that move between processes: each call may come from another one, on another
// host. The holds live in the store only, so that no process has to live on.
//
// REQUIRES: all these processes open the space with one explicit Options::app; a hold is found by
// the application and the label of the session. The store keeps holds that outlive their process;
// where it does not (memory, ZooKeeper, PostgreSQL with strategy=session), take is `unsupported`.
//
// A holder that was slow does not know when its time-out passes: give the stamp to the resource
// that is written at the end (docs/fencing.md).
//
// Thread-safety: all calls from any threads at once. `locks` must outlive it.
class UserSessions {
 public:
  struct Settings {
    // How long a session may be silent: the lease. At most the longest lease of the space, 10
    // minutes unless `lockset init --max-lease` says otherwise.
    Duration timeout = std::chrono::minutes(10);
    // All names begin with it: then touch and release_all look at these holds only.
    std::string prefix{};
  };

  UserSessions(Locks& locks, Settings settings) : locks_(&locks), settings_(std::move(settings)) {}

  // One try for a set, which is then held until release, release_all or the time-out. If the
  // session has all of it in one hold, that hold is renewed and its stamp returned: a second click
  // is no conflict. What it has in part is a conflict with itself.
  // Errors: invalid for the set, the session or the time-out, or a name without the prefix;
  // those of Locks::try_acquire, Locks::inspect and Hold::detach.
  Result<EditOutcome> take(const UserSession& session, std::vector<LockRequest> wanted);

  // Renews all holds of the session: its time-out begins anew. Returns how many there are now.
  // Errors of the store; then some may not have been renewed.
  Result<std::size_t> touch(const UserSession& session);

  // As Locks::release_locks: when the edit is saved or given up. Errc::not_held if the time-out
  // came first: then somebody else may have edited meanwhile.
  Status release(Stamp stamp) { return locks_->release_locks(stamp); }

  // Releases all holds of the session, also those that other processes took. Returns how many.
  // After an error of the store, which it returns, it has tried the others all the same.
  Result<std::size_t> release_all(const UserSession& session);

  // The holds of the session, by ascending stamp.
  Result<std::vector<HoldInfo>> held_by(const UserSession& session);

 private:
  Status check(const UserSession& session) const;
  Result<EditConflict> in_the_way(const LockSet& set);
  [[nodiscard]] bool is_of(const HoldInfo& hold, const UserSession& session) const;

  Locks* locks_;
  Settings settings_;
};

}  // namespace LOCKSET_EXPORT
