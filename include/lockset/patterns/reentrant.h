// Re-entrant locks: an owner that asks again for what it holds gets the same hold, counted.
// Semantics 22. For code in layers, where an outer function holds a set and an inner one asks for
// the set or a part of it again. Locks itself is not re-entrant (semantics 15).
//
//   lockset::ReentrantLocks locks(plain);
//   auto outer = locks.acquire({write("a"), write("b")}).value();
//   auto inner = locks.acquire({write("a")}).value();  // at once; the same stamp
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"

namespace lockset LOCKSET_EXPORT {

// For whom holds are counted. A plain value; copies are the same owner. Thread-safe.
class ReentrantOwner {
 public:
  // The calling thread. A thread that starts after this one ended is another owner.
  static ReentrantOwner this_thread() noexcept;
  // A new owner, unlike all others: for asynchronous code, which changes its thread.
  static ReentrantOwner make() noexcept;

  auto operator<=>(const ReentrantOwner&) const = default;

 private:
  explicit ReentrantOwner(std::uint64_t id) noexcept : id_(id) {}
  std::uint64_t id_;
};

class ReentrantState;  // private to patterns/
struct ReentrantEntry;

// One count of a hold. The last one that is released or destroyed, in whatever order, releases the
// hold in the store.
//
// Move-only. A moved-from, released or default-constructed ReentrantHold holds nothing: its stamp()
// is 0. The destructor releases and never throws.
//
// Any thread may release it, also after its owner's thread has ended without doing so: until then
// the set is held, and no other owner gets it.
//
// Thread-safety: as Hold. Different counts of one hold may be used by different threads.
class [[nodiscard]] ReentrantHold {
 public:
  ReentrantHold() noexcept = default;
  ReentrantHold(ReentrantHold&&) noexcept = default;
  ReentrantHold& operator=(ReentrantHold&& other) noexcept;
  ReentrantHold(const ReentrantHold&) = delete;
  ReentrantHold& operator=(const ReentrantHold&) = delete;
  ~ReentrantHold();

  // The hold itself: its items() are those of the first request. Valid until this count is
  // released, moved or destroyed; an empty Hold if it holds nothing.
  [[nodiscard]] const Hold& hold() const noexcept;
  [[nodiscard]] Stamp stamp() const noexcept { return hold().stamp(); }
  // As Hold::valid: also false for all counts at once.
  [[nodiscard]] bool valid() const noexcept { return hold().valid(); }
  // How many counts the hold has now; 0 if this object holds nothing.
  [[nodiscard]] std::size_t count() const noexcept;

  // As Hold::renew.
  Status renew();

  // Gives this count back. Only the last count asks the store, with the errors of Hold::release.
  // Errc::not_held if the hold was lost meanwhile, for each of its counts, and if this object holds
  // nothing, as after a first release: then nothing happens to the other counts.
  Status release();

 private:
  friend class ReentrantState;
  ReentrantHold(std::shared_ptr<ReentrantState> state,
                std::shared_ptr<ReentrantEntry> entry) noexcept;
  std::shared_ptr<ReentrantState> state_;
  std::shared_ptr<ReentrantEntry> entry_;
};

// Adds owners and counts to a Locks. All code that is to share holds must use the same
// ReentrantLocks. Sets that share no name are held independently of each other.
//
// `locks` must stay where it is while calls are under way. Destroying this object releases nothing:
// its holds last until their counts are gone. (Destroying `locks` releases them.)
//
// Thread-safety: all calls may come from any threads at once, also for one owner.
//
// fork: in a child, all calls fail with Errc::invalid, and the parent's counts do nothing.
class ReentrantLocks {
 public:
  explicit ReentrantLocks(Locks& locks);
  ReentrantLocks(const ReentrantLocks&) = delete;
  ReentrantLocks& operator=(const ReentrantLocks&) = delete;
  ~ReentrantLocks() = default;

  // If the owner holds all of `wanted` in one hold, in the same mode or as write where it asks for
  // read, the answer is that hold, at once and without the store; `options` do not matter then.
  // If it holds none of the names, this is Locks::acquire. If another call of the same owner is
  // asking for one of the names, this one waits for it first, within `options.wait`.
  // Errors: those of Locks::acquire, and
  //   invalid   the owner holds some of the names but not all, or not in one hold, or asks for
  //             write where it holds read: it would wait for itself; or it holds all of them, and
  //             `options` set a condition (unchanged_since)
  //   not_held  the owner lost the hold and has not released it. It is not taken anew: the code
  //             around this call still relies on it
  Result<ReentrantHold> acquire(std::vector<LockRequest> wanted, const AcquireOptions& options = {},
                                ReentrantOwner owner = ReentrantOwner::this_thread());

  // The same with one try. An empty optional means contention: the set is taken, or another call of
  // the same owner is asking for one of the names.
  Tried<std::optional<ReentrantHold>> try_acquire(
      std::vector<LockRequest> wanted, const TryOptions& options = {},
      ReentrantOwner owner = ReentrantOwner::this_thread());

 private:
  Locks* locks_;
  std::shared_ptr<ReentrantState> state_;
};

}  // namespace LOCKSET_EXPORT
