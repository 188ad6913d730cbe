// The contract of a store, for authors of a backend.
//
// The core and the backend keep the promises of docs/semantics.md together. The core canonicalises
// sets, resolves permits, retries, waits, renews, and judges validity on the client's clock. A
// backend does a few atomic steps in its store and judges expiry on the store's clock.
//
// Every call of every backend keeps these rules:
//  * It is thread-safe, and blocks no other call for longer than the store needs.
//  * It returns by `by`, give or take scheduling. If the client library can't be interrupted, the
//    backend drops the connection.
//  * It never throws anything but std::bad_alloc.
//  * Errc::unavailable: certainly nothing was applied, and nothing will be later.
//    Errc::indeterminate: the request was sent, and its outcome is not known. An unknown error
//    after a change was sent is indeterminate, not unavailable.
//  * The backend retries serialization failures, deadlocks between transactions and the like
//    itself, until `by`. They are neither contention nor errors.
//  * A hold is "live" if it was granted, and not released, broken, reclaimed, or removed after its
//    lease ended on the store's clock. An expired hold ends only when a step removes it under its
//    lock, after checking the expiry again there. To filter on the expiry while deciding is not
//    enough: a renewal may be under way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// How backends differ. There are few traits, and each changes what a test expects.
struct Traits {
  // await_change returns early when the store says that something was released.
  bool push_wakeup = false;
  // A release wakes a bounded number of waiters, in the order in which they came.
  bool queued_wakeup = false;
  // Waiters are overtaken at most as often as the configuration says (semantics 13). Otherwise
  // SetMaxOvertakes is refused as unsupported.
  bool bounded_overtaking = false;
  // inspect() lists waiters.
  bool lists_waiters = false;
  // Holds may be made permanent (lease = none).
  bool permanent_leases = false;
  // A hold outlives the process that took it, until its lease ends.
  bool holds_outlive_process = false;
  // A hold may end at once when the process that took it has ended, if that was asked for
  // (AcquireRequest::ends_with_process).
  bool ends_with_process = false;
  // Other processes can open the same space.
  bool shared_between_processes = false;
  // Grants carry floors.
  bool floors = false;
  // A hold lives in a session between the store and the client that took it. Only that client
  // renews it, over the connection of that session, and never beyond the lease that was granted.
  bool session_leases = false;
  // Permits may be any number. Otherwise a name admits one write, and one read or any number of
  // them (max_permits); SetPermits to another number is refused as unsupported.
  bool counted_permits = true;
  // An application may reclaim its holds. Otherwise reclaim() is unsupported.
  bool can_reclaim = true;
  // A hold outlives the connections of its client, and a restart of the store, until its lease
  // ends.
  bool holds_outlive_connections = true;
  // Can be one of the two stores of a migration: SetMigrationPhase is applied.
  bool can_migrate = true;
  // Names have traces of their writes: observe() works, and a request may name a condition
  // (AcquireRequest::unchanged_since). Otherwise the core refuses both as unsupported.
  bool observing = false;
  // A hold may be upgraded and downgraded: a request may take its place (AcquireRequest::replaces).
  // Otherwise the core refuses both as unsupported.
  bool converting = false;
  // The most holds that one renew or release_all call should contain, so that the store does not
  // stall.
  std::size_t renew_chunk = 1000;
  // The clock on which the store counts leases, if that is neither its own nor the machine's: a
  // test's clock, in a memory store that was made with one. Clients count validity on the same
  // clock. It must outlive the backend.
  const Clock* clock = nullptr;
};

// What a backend remembers of one waiting acquire: its place in a queue, a channel, a watch. Opaque
// to the core, which passes it back to the backend that made it and drops it when the wait is over.
// Its destructor frees local resources only; Backend::end_wait removes the waiter from the store.
class WaitTicket {
 public:
  WaitTicket() = default;
  WaitTicket(const WaitTicket&) = delete;
  WaitTicket& operator=(const WaitTicket&) = delete;
  virtual ~WaitTicket() = default;
};

// The writes of one name, as the store saw them. Semantics 27.
//
// Only a name that somebody observed has a trace, so programs that never observe cost nothing. A
// trace says which write grant was the last one. Reads, releases, expiry and breaking leave it as
// it is.
struct Trace {
  // The stamp of the last write grant, or a stamp drawn when the trace was made if that is greater;
  // at least the stamp base. So no two values of a name are equal if a write was granted between
  // them. 0: there is no trace.
  Stamp last_write{};
  std::string label{};  // of who was granted it; empty if not known
  std::optional<std::int64_t>
      age_us{};  // since that grant, by the store's clock; unset if not known
  // A write hold was on the name. It may have expired, if no step had removed it.
  bool being_written = false;
};

// A trace stays for at least so long after it was last observed.
inline constexpr Duration trace_lifetime = std::chrono::hours(24 * 7);
// A store need not write down each observation: what it knows of the last one may be older by this.
inline constexpr Duration trace_grain = std::chrono::hours(24);

// All spans are valid during the call only.
struct ObserveRequest {
  std::span<const std::string> names;  // sorted by their bytes, without duplicates; at most 256
  std::int64_t config_version = 0;
  TimePoint by;
};

struct HoldRef;

// A condition of an acquire: this item of its set still has a trace with this value.
struct Expected {
  std::size_t item = 0;
  Stamp last_write{};
};

// One attempt. All pointers and spans are valid during the call only.
struct AcquireRequest {
  // Never null. Canonical: sorted and without duplicates.
  const LockSet* set = nullptr;
  // For each item of the set: how many holds of the item's mode its name admits at most, by the
  // configuration of version config_version.
  std::span<const std::uint32_t> permits;
  std::int64_t config_version = 0;
  // How often a waiter of this space may be overtaken, by that configuration.
  std::uint32_t max_overtakes = unlimited_overtakes;
  // Fresh for every attempt.
  Token token;
  const Owner* owner = nullptr;  // never null
  Duration lease{};              // at least min_lease, at most SpaceConfig::max_lease
  // The grant's stamp must be at least this (used by a migration between stores).
  Stamp min_stamp;
  // Grant only if each of these is met. By ascending item; empty: no condition.
  std::span<const Expected> unchanged_since;
  // The hold whose place this one takes, one of the same application (semantics 29, 30): the set is
  // its names, all as write (an upgrade) or all as read (a downgrade). Null: an ordinary acquire.
  // With it there is no condition, no ticket, and the caller does not wait.
  // REQUIRES: Traits::converting.
  const HoldRef* replaces = nullptr;
  // The caller will wait if the answer is busy: register the waiter in the same step, so that no
  // release after that answer can miss it.
  bool will_wait = false;
  // The hold may end before its lease does once the process that asks has ended. A store that can't
  // tell ignores it.
  bool ends_with_process = false;
  // The ticket of the previous busy answer to this same acquire, or null. A grant ends its
  // registration; a busy answer carries it on in Busy::ticket.
  std::shared_ptr<WaitTicket> ticket;
  TimePoint by;
};

struct Grant {
  Stamp stamp;
  // The lease as the store keeps it: at most what was asked for.
  Duration lease{};
  // The store's clock at the grant, in microseconds since an epoch of its own. Only the difference
  // to another reading from the same store has a meaning.
  std::int64_t store_time_us = 0;
  // For each item of the set, the lowest live stamp of its name, this one included. Empty unless
  // Traits::floors. A resource guarded by holds that may coexist compares against the floor.
  std::vector<Stamp> floors;
  // How often the backend repeated the step before it went through: serialization failures,
  // deadlocks, duplicate keys. The Observer sees it.
  std::uint32_t collisions = 0;
};

struct Busy {
  // One of the requests that could not be admitted, for people.
  std::string name;
  Mode mode = Mode::write;
  Stamp holder;
  std::string holder_label;
  // When the first lease among the holds in the way ends, if any of them ends. The waiter tries
  // again then, because nobody announces an expiry.
  std::optional<Duration> retry_after;
  // For await_change and the next attempt; null if the request did not ask to wait.
  std::shared_ptr<WaitTicket> ticket;
  std::uint32_t collisions = 0;  // as in Grant
};

// The request was made from another configuration than the store's. The caller loads the store's.
struct Stale {};

// A condition of the request is not met, and never will be.
struct Changed {
  std::size_t item = 0;  // of the set; the first one if there are several
  Trace trace;           // as it is now; last_write is 0 if there is none
};

// The hold that the request was to replace is not live, and never will be again.
struct Gone {};

using AcquireOutcome = std::variant<Grant, Busy, Stale, Changed, Gone>;

// One trace for each name, in the same order.
using ObserveOutcome = std::variant<std::vector<Trace>, Stale>;

// A hold, or an attempt that may have become one, as far as the caller knows it. A backend needs
// only the stamp (to resolve an attempt: the token). The rest saves a look-up, and lets a store
// that lost its state register the hold again. Whatever is set must be right: a backend may trust
// it. The pointers are valid during the call only.
struct HoldRef {
  HoldRef() = default;
  // NOLINTBEGIN(google-explicit-constructor): each identifies a hold alone.
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
  const Owner* owner = nullptr;    // who acquired it; null: not known
  std::int64_t store_time_us = 0;  // of the grant, as in Grant; 0: not known
};

struct RenewRequest {
  HoldRef hold;
  Duration lease{};
  // Make the hold permanent; `lease` is then ignored.
  bool permanent = false;
  // From now on the hold does not end with its process (AcquireRequest::ends_with_process). Implied
  // by `permanent`.
  bool outlives_process = false;
};

struct Renewal {
  // What is left of the lease, counted from the moment of the renewal in the store: the lease that
  // was asked for, or more if the hold had more. With Traits::session_leases, what the session
  // allows. Duration::max() for a permanent hold.
  Duration lease{};
};

struct RenewReply {
  // One per request, in the same order. Unset: this owner's application has no such live hold, and
  // nothing was changed.
  std::vector<std::optional<Renewal>> renewals;
  // True for a request whose outcome is unknown although others were answered; its unset renewal
  // then means nothing. Empty: no such request. (Occurs in a backend over several stores.)
  std::vector<bool> unanswered = {};

  // True for a request whose unset renewal may only mean that the store has forgotten the hold, or
  // its last renewals: its state was lost, or may have been, and it grants nothing for now. If the
  // caller knows the hold (HoldRef::known) and its lease has not ended by the caller's clock, it
  // registers it again (Backend::reregister). Empty: no such request.
  std::vector<bool> forgotten = {};

  [[nodiscard]] bool answered(std::size_t i) const { return unanswered.empty() || !unanswered[i]; }
  [[nodiscard]] bool may_be_forgotten(std::size_t i) const {
    return !forgotten.empty() && forgotten[i];
  }
  std::int64_t store_time_us = 0;  // as in Grant
};

// A hold that the store may have forgotten, to be registered again. The span is valid during the
// call only.
struct ReregisterRequest {
  RenewRequest renewal;  // renewal.hold.known()
  // As in AcquireRequest.
  std::span<const std::uint32_t> permits;
  std::int64_t config_version = 0;
};

// Gone: the hold has ended, or can't be registered any more, and never will be.
using ReregisterOutcome = std::variant<Renewal, Stale, Gone>;

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
  //  1. If config_version differs from the store's: Stale.
  //  2. Expired holds on the set's names are removed.
  //  3. If the trace of an item in unchanged_since is missing, or has another value: Changed. That
  //     ends the waiter's registration as a grant does.
  //  4. A read needs no live write on its name, and fewer live reads than its permits; a write
  //     needs no live read, and fewer live writes than its permits. If any item fails: Busy, and
  //     nothing is left behind but the waiter.
  //  5. A stamp is drawn, greater than every stamp ever granted in this space, than the stamp
  //     base, and than min_stamp - 1. Then the hold is recorded with its token, and each of its
  //     write names that has a trace gets this stamp, the owner's label and the store's time in it.
  // A token has at most one live hold: if the same request is delivered twice, the second one gets
  // the same grant again, Busy, Changed or Gone, and adds nothing. To make a permanent hold, grant
  // it with a finite lease and renew it.
  //
  // With `replaces`, the request converts a hold. The same step, with these differences:
  //  * After 2: if that hold is not live, or not one of owner->app, the answer is Gone; or, if this
  //    request was granted before and that hold is live, the same grant again.
  //  * It does not count in 4, nor for the floors. A downgrade does not look at names kept for
  //    waiters, and overtakes nobody: it only gives up. An upgrade is a newcomer like any other.
  //  * In 5 it ends, in this very step: nobody ever sees both, nor neither. The new hold takes over
  //    what was left of its lease if that is more than `lease` (Grant::lease says it; a permanent
  //    hold stays permanent), and whether it ends with its process; ends_with_process is ignored.
  //    Waiters that may be admitted beside the new modes are woken, as by a release.
  //  * Busy, Stale and Gone leave it as it was.
  virtual Result<AcquireOutcome> try_acquire(const AcquireRequest& request) = 0;

  // What became of the attempt with `attempt.token`: its grant if it is live now, with what is left
  // of its lease in Grant::lease (Duration::max() if permanent), else nothing. "Nothing" may turn
  // into a grant later, while the request is still on its way.
  virtual Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) = 0;

  // Renews live holds of `owner.app`, each independently, all in as few round trips as the store
  // allows. Never brings back a hold that has ended or expired. Renewing twice is harmless.
  virtual Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                                   TimePoint by) = 0;

  // Registers a hold of `owner.app` again after a renewal found that the store may have forgotten
  // it (RenewReply::forgotten), with its stamp, token, set and owner, in one atomic step:
  //  1. If config_version differs from the store's: Stale.
  //  2. Gone, and nothing is changed,
  //     - unless the store still grants nothing because of that loss: afterwards others may have
  //       been granted the names, and have released them;
  //     - if the hold was ended since it was granted, by whomever: a release, a break, a reclaim, a
  //       conversion. So a store that forgets notes each end of which the holder may not know;
  //     - if a live hold that it conflicts with has a later stamp, or there are permits for several
  //       and all are taken. One with an earlier stamp had ended, and ends here. (If both have the
  //       same mode, a store may answer Gone instead: perhaps the permits were lowered since.)
  //  3. The hold is recorded, or renewed if it is there. Later stamps are greater than its own.
  // The caller was granted the hold, and knows of no end. Doing it twice is harmless. The default
  // serves a store that never reports a forgotten hold.
  virtual Result<ReregisterOutcome> reregister(const Owner& /*owner*/,
                                               const ReregisterRequest& /*request*/,
                                               TimePoint /*by*/) {
    return ReregisterOutcome(Gone{});
  }

  // Ends the live hold `hold.stamp` if it belongs to application `app`. True if this very call
  // ended it: of two concurrent calls exactly one answers true. The hold ends as a whole, and
  // waiters for its names are woken.
  virtual Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) = 0;

  // Releases each of these as release does, all in as few round trips as the store allows: for a
  // client that closes. The result has one element per hold, in the same order: true if this very
  // call ended the hold. After an error of any code, some holds may have been released. The default
  // releases them one by one.
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

  // As release, for a hold of any application.
  virtual Result<bool> break_hold(const HoldRef& hold, TimePoint by) = 0;

  // Blocks until the set of the busy answer may have become free, until `until`, or until `stop`.
  // It is a hint: it may return for no reason, and correctness never depends on an early return. An
  // error only means that the hint is not available now. `ticket` comes from the last busy answer
  // of this backend.
  virtual Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) = 0;

  // True: an await_change that began at `since` would have something to do by now. It is asked
  // again and again, for many waiters on one thread, so that none of them needs a thread of its own
  // (ADR 0070): it does no I/O with the store, and does not wait. After it was true, await_change
  // is called for a short time and then the set is asked for again. The default never tells: such
  // waiters only try again from time to time.
  virtual bool has_changed(WaitTicket& /*ticket*/, TimePoint /*since*/) { return false; }

  // The waiter gave up: removes it from the store's queue, and passes on a wake-up that it was
  // given. Best effort.
  virtual void end_wait(WaitTicket& ticket, TimePoint by) = 0;

  // A consistent snapshot of the live holds that match. Expired holds are not shown. For people and
  // tests; nothing is decided from it.
  virtual Result<Inspection> inspect(const InspectQuery& query, TimePoint by) = 0;

  virtual Result<SpaceConfig> load_config(TimePoint by) = 0;

  // Applies the change, raises the version as SpaceConfig says and returns the result, in one
  // atomic step, unless SetMigrationPhase::only_at_version forbids it. Wakes waiters if the change
  // may admit them. The caller has checked the change (check_change).
  virtual Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) = 0;

  // If the hold `epoch` of application `app` is live and the application's epoch is not higher:
  // makes it the application's epoch and, if that changed anything, raises the version, in one
  // atomic step. In that step or in later ones, ends all holds of the application with a lower
  // epoch, except the hold `epoch` itself. Returns the number of holds ended. Repeating the call is
  // harmless. Errc::superseded if the application's epoch is higher, else Errc::not_held if the
  // hold `epoch` is not live.
  virtual Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) = 0;

  // The trace of each of these names, in one atomic step for each name:
  //  1. If config_version differs from the store's: Stale, and nothing is done.
  //  2. A missing trace is made, with a stamp drawn for it as for a grant, without a label or time.
  //  3. It is noted when the name was observed (trace_grain), and the trace is read.
  // Expired holds on these names are removed, by this step or soon after it: perhaps nobody else
  // asks for the names, and they would be "being written" for ever.
  // No write may slip between a trace and its reader: making a trace keeps the same order of locks
  // as a write grant, and to read one without a lock is enough, because a grant and its change of
  // the trace are one step. If a store forgets holds and lets clients register them again, that
  // raises the traces of their write names to at least their stamps; or the loss ends all traces,
  // and nothing is observed before the lost holds have ended or are registered.
  // REQUIRES: Traits::observing.
  virtual Result<ObserveOutcome> observe(const ObserveRequest& /*request*/) {
    return Error{Errc::unsupported,
                 "this store keeps no traces of writes: nothing can be observed"};
  }

  // Removes some traces that were not observed for at least `unobserved`, a bounded number per
  // call. Returns the number removed.
  virtual Result<std::size_t> sweep_traces(Duration /*unobserved*/, TimePoint /*by*/) {
    return std::size_t{0};
  }

  // From now on `lost` is told each hold of this client that has ended in the store without this
  // client's doing, as soon as the backend notices: only a hint, for a renewal finds out as well.
  // It may be called on any thread. Empty: nobody is told any more; no call of an earlier one is
  // under way when this returns. The default never tells.
  virtual void watch_losses(std::function<void(Stamp)> /*lost*/) {}

  // Removes some expired holds, a bounded number per call, so that names which nobody asks for any
  // more leave nothing behind. Returns the number removed.
  virtual Result<std::size_t> sweep(TimePoint by) = 0;
};

}  // namespace LOCKSET_EXPORT
