// A granted lock set, as its holder has it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"
#include "lockset/tried.h"

namespace lockset LOCKSET_EXPORT {

enum class LostReason : std::uint8_t {
  not_lost,
  expired,     // the lease ran out here before a renewal was confirmed
  gone,        // the store no longer has the hold: expired there, broken, or reclaimed
  app_lost,    // reclaim=on, and the hold on the application id was lost
  superseded,  // a newer instance of the application took over
  in_doubt,    // a downgrade got no answer: the store may already have let others read
};

std::string_view to_string(LostReason reason) noexcept;

class HoldState;  // private to the core

// States of a hold, and what each call does to it:
//
//   state     valid()  renew()            release()           the lease's end here
//   held      true     held, lease anew   released            -> lost, lost() fires
//   lost      false    Errc::not_held     Errc::not_held      -
//   released  false    Errc::not_held     Errc::not_held      -
//
// An upgrade or downgrade releases the hold and gives a new one in its place, with a new stamp.
//
// Move-only. The destructor releases a hold that is still held, within Options::io_timeout, and
// never throws. If the release is not confirmed, the hold ends with its lease. A moved-from or
// default-constructed Hold holds nothing: its stamp() is 0.
//
// Thread-safety: const calls and renew() may come from any threads at once. Call release(),
// detach(), try_upgrade(), downgrade(), the move operations and the destructor from one thread at a
// time.
//
// fork: in a child process the parent's holds answer valid() == false, release() and renew() fail
// with Errc::not_held, and the destructor does nothing.
//
// The Locks that granted the hold may be destroyed first; that releases the hold.
class [[nodiscard]] Hold {
 public:
  Hold() noexcept = default;
  Hold(Hold&&) noexcept = default;
  Hold& operator=(Hold&& other) noexcept;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  // The fencing token; 0 if this object holds nothing.
  [[nodiscard]] Stamp stamp() const noexcept;
  // What is held, sorted by name.
  [[nodiscard]] std::span<const LockRequest> items() const noexcept;
  // The lowest stamp that may legally act on `name` at the same time as this one. For reads, and
  // for permits above 1, a guarded resource compares stamps with it. 0 if the backend gives no
  // floors or the name is not in the set.
  [[nodiscard]] Stamp floor(std::string_view name) const noexcept;
  // The effective lease: what the store granted. Duration::max() for lease = none.
  [[nodiscard]] Duration lease() const noexcept;

  // True while no incompatible hold can be valid (semantics 20). Local and cheap: it reads the
  // clock once and does no I/O. Ask right before each step that must not be done twice.
  [[nodiscard]] bool valid() const noexcept;
  // True if valid() will still be true after `duration` even if no renewal succeeds. A
  // release, a break or a reclaim may end it sooner.
  [[nodiscard]] bool valid_for(Duration duration) const noexcept;
  // When validity ends unless renewed, by the clock of the Locks (Options::clock). TimePoint::max()
  // for lease = none. A time long past (TimePoint{}) if the hold is lost or released.
  [[nodiscard]] TimePoint valid_until() const noexcept;

  // Stops once: at the latest when validity ends without release(), and never because of release().
  // Callbacks run on a thread of the manager that does nothing else.
  [[nodiscard]] std::stop_token lost() const noexcept;
  // Stops once, when lost() does, or when the hold has ended otherwise: released, detached,
  // upgraded or downgraded, or its Locks destroyed. Callbacks run where that happens.
  [[nodiscard]] std::stop_token ended() const noexcept;
  [[nodiscard]] LostReason lost_reason() const noexcept;

  // Renews now instead of at the next third of the lease. Errc::not_held if the hold is gone: then
  // it is lost. Another error is trouble with the store: then nothing changed.
  Status renew();

  // Ends the hold. Errc::not_held if it had ended already: then somebody else may have held the set
  // meanwhile. Errc::unavailable or Errc::indeterminate if the store did not confirm: then the hold
  // is over for this object all the same, and ends in the store with its lease.
  Status release();
  // The same without waiting for the store; this object then holds nothing. `done` is called once,
  // with what release() returns, on a thread of the Locks (see Locks::start_acquire) or, if the
  // answer is there at once, by this call. Errc::cancelled if the Locks was destroyed before: that
  // releases the hold. lockset/asio.h has it as an asynchronous operation.
  void start_release(std::function<void(Status)> done) &&;

  // Takes all its names as write, without waiting and without letting go (semantics 29): if no one
  // else holds any of them and none is kept for a waiter. The new hold comes in place of this one,
  // in one step: it has a new stamp, the same label and lease, at least what was left of this
  // one's, and this one is then released; its lost() never stops. An empty optional is contention:
  // this hold stands as it was. Two readers that both try forever would keep each other out: one of
  // them has to release.
  //
  //   if (auto writer = hold.try_upgrade().value()) hold = std::move(*writer);
  //
  // Errors: not_held if it has ended (then it is lost); invalid if all of it is held as write
  // already; unsupported unless Traits::converting; superseded, rolled_back, and those of the store
  // as Locks::try_acquire. After unavailable this hold stands. After indeterminate it stands too,
  // but a request may still be under way. If that is granted, the hold is lost: it is given back.
  Tried<std::optional<Hold>> try_upgrade();
  // Takes all its names as read, in the same way (semantics 30). An empty optional occurs only
  // where the write permits of a name are above 1, and another writer is there. While the call is
  // under way this hold is not valid, for others may read from some moment on. Errors: as of
  // try_upgrade. But after indeterminate this hold is lost, and is given back.
  Tried<std::optional<Hold>> downgrade();

  // Stops managing the hold without ending it: it is not renewed any more, nor released at
  // destruction. It stays in the store until its lease ends or a process of the same application
  // releases it by its stamp. Returns the stamp. Errc::unsupported if the store ends holds with
  // their process. After an error of the store (SQLite has to be told) the hold is still managed.
  Result<Stamp> detach();

 private:
  friend class Locks;
  Tried<std::optional<Hold>> convert(Mode mode);
  explicit Hold(std::shared_ptr<HoldState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<HoldState> state_;
};

}  // namespace LOCKSET_EXPORT
