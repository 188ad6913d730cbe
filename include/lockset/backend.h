// What a store has to do: the contract for those who write a backend.
//
// The rules of the game (docs/semantics.md) are kept by the core and the backend
// together. The core canonicalises sets, resolves permits, retries, waits,
// renews and judges validity on the client's clock. A backend does a few atomic
// steps in its store and judges expiry on the store's clock.
//
// For every call of every backend:
//  * It is thread-safe, and blocks no other call for longer than the store needs.
//  * It returns by `by`, give or take scheduling. Where the client library can't
//    be interrupted, the backend gives the connection up.
//  * It never throws, std::bad_alloc apart.
//  * Errc::unavailable: surely nothing was applied, now or later.
//    Errc::indeterminate: sent, and the outcome is not known. An unknown error
//    after sending a change is indeterminate, not unavailable.
//  * Serialization failures, deadlocks between transactions and the like are
//    retried inside until `by`; they are neither contention nor errors.
//  * "Live" means: granted, not released, not broken, not reclaimed, and not
//    removed after its lease ended on the store's clock. An expired hold ends only
//    when a step has removed it under its lock, having looked at the expiry again
//    there; to filter on the expiry while deciding is not enough, for a renewal
//    may be under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/space_config.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

// What differs between backends. Few, and each changes what a test expects.
struct Traits {
  // await_change returns early when the store says that something was released.
  bool push_wakeup = false;
  // A release wakes a bounded number of waiters, in the order of their coming.
  bool queued_wakeup = false;
  // inspect() lists waiters.
  bool lists_waiters = false;
  // Holds may be made permanent (lease = none).
  bool permanent_leases = false;
  // A hold outlives the process that took it, until its lease ends.
  bool holds_outlive_process = false;
  // Other processes can open the same space.
  bool shared_between_processes = false;
  // Grants carry floors.
  bool floors = false;
  // A hold lives in a session that the client which took it keeps with the store. Only that
  // client renews it, never beyond the lease it was granted with, and over that session's
  // connection.
  bool session_leases = false;
  // May be one of the two stores of a migration: SetMigrationPhase is applied.
  bool can_migrate = true;
  // The most holds that one renew or release_all call should contain, so as not to stall the store.
  std::size_t renew_chunk = 1000;
  // The clock on which the store counts leases, if that is neither its own nor the machine's: a
  // memory store that was made with a test's clock. Clients count validity on the same clock. It
  // must outlive the backend.
  const Clock* clock = nullptr;
};

// A backend's memory of one waiting acquire: its place in a queue, a channel, a
// watch. Opaque to the core, which passes it back to the backend that made it and
// drops it when the wait is over. Its destructor frees local resources only;
// Backend::end_wait takes the waiter out of the store.
class WaitTicket {
 public:
  WaitTicket() = default;
  WaitTicket(const WaitTicket&) = delete;
  WaitTicket& operator=(const WaitTicket&) = delete;
  virtual ~WaitTicket() = default;
};

// One attempt. All pointers and spans stay valid during the call only.
struct AcquireRequest {
  // Never null. Canonical: sorted and without duplicates.
  const LockSet* set = nullptr;
  // For each item of the set: the most holds of its own mode that its name admits,
  // as resolved from the configuration of version config_version.
  std::span<const std::uint32_t> permits;
  std::int64_t config_version = 0;
  // Fresh for every attempt.
  Token token;
  const Owner* owner = nullptr;  // never null
  Duration lease{};              // at least min_lease, at most SpaceConfig::max_lease
  // The grant's stamp must be at least this (migration between stores).
  Stamp min_stamp;
  // The caller waits if it is told busy: register it in the same step, so that no
  // release after the busy answer can miss it.
  bool will_wait = false;
  // Of the previous busy answer to this same acquire, or null. A grant ends its
  // registration; a busy answer carries it on, in Busy::ticket.
  std::shared_ptr<WaitTicket> ticket;
  TimePoint by;
};

struct Grant {
  Stamp stamp;
  // The lease as the store keeps it: at most what was asked for.
  Duration lease{};
  // The store's clock at the grant, in microseconds since an epoch of its own;
  // only differences to the same store's other readings mean anything.
  std::int64_t store_time_us = 0;
  // Per item of the set the lowest live stamp of its name, this one included;
  // empty unless Traits::floors. A resource guarded by holds that may coexist
  // compares against the floor.
  std::vector<Stamp> floors;
  // How often the step was repeated inside before it went through: serialization
  // failures, deadlocks, duplicate keys. Shown to the Observer.
  std::uint32_t collisions = 0;
};

struct Busy {
  // One of those in the way, for people.
  std::string name;
  Mode mode = Mode::write;
  Stamp holder;
  std::string holder_label;
  // When the first lease among those in the way ends, if it ever does: the waiter
  // looks again then, for nobody announces an expiry.
  std::optional<Duration> retry_after;
  // For await_change and the next attempt; null if the request did not want to wait.
  std::shared_ptr<WaitTicket> ticket;
  std::uint32_t collisions = 0;  // as in Grant
};

// The request was made from another configuration than the store's: the caller loads that.
struct Stale {};

using AcquireOutcome = std::variant<Grant, Busy, Stale>;

// A hold, or an attempt that may have become one, as far as the caller knows it. The stamp (to
// resolve an attempt: the token) is all that a backend needs. The rest saves it a look-up, and lets
// a store that lost its state register the hold again. What is given must be right: a backend may
// trust it. The pointers stay valid during the call only.
struct HoldRef {
  HoldRef() = default;
  // NOLINTBEGIN(google-explicit-constructor): both name a hold by themselves.
  HoldRef(Stamp hold) : stamp(hold) {}
  HoldRef(const Token& attempt) : token(attempt) {}
  // NOLINTEND(google-explicit-constructor)

  // The caller took this hold itself.
  [[nodiscard]] bool known() const noexcept {
    return set != nullptr && owner != nullptr && token != Token();
  }

  Stamp stamp;                     // 0: not known
  Token token;                     // of the attempt; zero: not known
  const LockSet* set = nullptr;    // null: not known
  const Owner* owner = nullptr;    // as it was acquired with; null: not known
  std::int64_t store_time_us = 0;  // of the grant, as in Grant; 0: not known
};

struct RenewRequest {
  HoldRef hold;
  Duration lease{};
  // Make the hold permanent; `lease` is then ignored.
  bool permanent = false;
};

struct Renewal {
  // What is left of the lease, counted from the moment of the renewal in the store: the lease that
  // was asked for, or more if the hold had more; with Traits::session_leases what the session
  // allows. Duration::max() for a permanent hold.
  Duration lease{};
};

struct RenewReply {
  // One per request, in its order; unset: no such live hold of this owner's
  // application, and nothing was changed for it.
  std::vector<std::optional<Renewal>> renewals;
  // Set for requests whose outcome is unknown although others were answered: their unset renewal
  // means nothing. Empty: none. (Occurs in a backend over several stores.)
  std::vector<bool> unanswered = {};

  [[nodiscard]] bool answered(std::size_t i) const { return unanswered.empty() || !unanswered[i]; }
  std::int64_t store_time_us = 0;  // as in Grant
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  // Closes connections. Ends no hold. REQUIRES: no call is under way.
  virtual ~Backend() = default;

  // Constant during the backend's life.
  [[nodiscard]] virtual Traits traits() const = 0;

  // Grants the whole set or nothing, in one atomic step:
  //  1. config_version differs from the store's -> Stale.
  //  2. Expired holds on the set's names are removed.
  //  3. A read needs no live write on its name, and fewer live reads than its
  //     permits; a write needs no live read, and fewer live writes than its
  //     permits. Any item that fails -> Busy, and no trace but the waiter's.
  //  4. A stamp is drawn, greater than every stamp ever granted in this space, the
  //     stamp base, and min_stamp - 1; then the hold is recorded with its token.
  // A token has at most one live hold: the same request delivered twice answers the
  // same grant again or Busy, and adds nothing.
  // A permanent hold is made by granting it with a finite lease and renewing it.
  virtual Result<AcquireOutcome> try_acquire(const AcquireRequest& request) = 0;

  // What became of the attempt with `attempt.token`: its grant if it is live now, with
  // what is left of its lease in Grant::lease (Duration::max() if permanent), else
  // nothing. "Nothing" may turn into a grant later while the request is still on its
  // way.
  virtual Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) = 0;

  // Renews live holds of `owner.app`, each by itself, all of them in as few round
  // trips as the store allows. Never brings back a hold that has ended or expired.
  // Renewing twice is harmless.
  virtual Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                                   TimePoint by) = 0;

  // Ends the live hold `hold.stamp` if it belongs to application `app`; true if
  // this very call ended it. Of two concurrent calls exactly one answers true. The
  // hold ends whole, and those who wait for its names are woken.
  virtual Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) = 0;

  // Releases each of these as release does, all of them in as few round trips as the store allows:
  // for a client that closes. The result has one element per hold, in their order: true if this
  // very call ended the hold. After an error some may have been released, whatever its code. The
  // default releases them one by one.
  virtual Result<std::vector<bool>> release_all(std::span<const HoldRef> holds,
                                                std::string_view app, TimePoint by) {
    std::vector<bool> ended;
    for (const HoldRef& hold : holds) {
      Result<bool> one = release(hold, app, by);
      if (!one) return std::move(one).error();
      ended.push_back(*one);
    }
    return ended;
  }

  // As release, whoever owns the hold.
  virtual Result<bool> break_hold(const HoldRef& hold, TimePoint by) = 0;

  // Blocks until the set of the busy answer may have become free, until `until`, or
  // until `stop`. A hint: it may return for no reason, and correctness never
  // depends on its returning early. An error means only that the hint can't be had
  // now. `ticket` comes from the last busy answer of this backend.
  virtual Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) = 0;

  // The waiter gave up: takes it out of the store's queue, and passes on a wake-up
  // that it had been given. Best effort.
  virtual void end_wait(WaitTicket& ticket, TimePoint by) = 0;

  // A consistent picture of the live holds that match. Expired holds are not
  // shown. For people and tests; nothing is decided from it.
  virtual Result<Inspection> inspect(const InspectQuery& query, TimePoint by) = 0;

  virtual Result<SpaceConfig> load_config(TimePoint by) = 0;

  // Applies the change, raises the version as SpaceConfig says and returns the result, in one
  // atomic step, unless SetMigrationPhase::only_at_version forbids it. Wakes waiters where it may
  // admit them. The caller has checked the change (check_change).
  virtual Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) = 0;

  // If the hold `epoch` of application `app` is live and the application's epoch is not
  // higher: makes it the application's epoch and raises the version if that changed
  // anything, in one atomic step; there, or in steps behind it, ends all holds of the
  // application of a lower epoch but the hold `epoch` itself. The number of holds ended;
  // to repeat it does no harm. Errc::superseded if the application's epoch is higher, else
  // Errc::not_held if the hold `epoch` is not live.
  virtual Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) = 0;

  // Removes some expired holds, a bounded number per call, so that names nobody
  // asks for any more leave nothing behind. The number removed.
  virtual Result<std::size_t> sweep(TimePoint by) = 0;
};

}  // namespace LOCKSET_EXPORT
