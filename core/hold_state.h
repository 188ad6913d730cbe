// One hold, as its holder, the renewer and the watchdog share it: the lease machine behind a mutex,
// and the end of validity as one atomic number for valid().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "core/fork_guard.h"
#include "core/known_hold.h"
#include "core/lease_clock.h"
#include "core/lease_state.h"
#include "lockset/backend.h"
#include "lockset/hold.h"

namespace lockset {

class Manager;

// Thread-safe.
class HoldState {
 public:
  struct Made {
    KnownHold hold;
    std::vector<Stamp> floors;
    Duration lease;  // as granted
    TimePoint sent;
    Duration renew_with;  // the lease to ask for; no_lease: permanent
    std::weak_ptr<Manager> manager;
    // With reclaim: the hold on the application id; this hold ends with it.
    std::shared_ptr<HoldState> app_hold;
    LeaseClock clock{};  // of `sent` and of all moments below
    // The store may end it when this process ends (AcquireRequest::ends_with_process).
    bool ends_with_process = false;
  };

  explicit HoldState(Made made);

  [[nodiscard]] Stamp stamp() const noexcept { return made_.hold.stamp; }
  [[nodiscard]] bool ends_with_process() const noexcept { return made_.ends_with_process; }
  [[nodiscard]] const LockSet& set() const noexcept { return made_.hold.set; }
  // What the backend is told about it.
  [[nodiscard]] HoldRef ref() const { return made_.hold.ref(); }
  [[nodiscard]] const KnownHold& known() const noexcept { return made_.hold; }
  [[nodiscard]] const std::vector<Stamp>& floors() const noexcept { return made_.floors; }
  // Null once the manager was closed.
  [[nodiscard]] std::shared_ptr<Manager> manager() const { return made_.manager.lock(); }
  [[nodiscard]] Duration granted_lease() const noexcept { return made_.lease; }
  [[nodiscard]] Duration lease() const;
  [[nodiscard]] TimePoint now() const noexcept { return made_.clock.now(); }
  [[nodiscard]] TimePoint valid_until() const noexcept;
  // Once it is false, it stays false; but a downgrade that fails only interrupts it.
  [[nodiscard]] bool valid() const noexcept { return !given_up_.load() && unexpired(); }
  // As valid(), also during a downgrade: it is worth renewing.
  [[nodiscard]] bool unexpired() const noexcept;
  [[nodiscard]] bool in_child() const noexcept { return fork_guard_.in_child(); }
  [[nodiscard]] LostReason lost_reason() const;
  // The holder released it; a lost hold is not released.
  [[nodiscard]] bool released() const noexcept {
    return phase_.load() == LeaseState::Phase::released;
  }
  [[nodiscard]] std::stop_token lost() const;
  // Also stops when the holder has ended it.
  [[nodiscard]] std::stop_token ended() const;
  // TimePoint::max() unless held.
  [[nodiscard]] TimePoint renew_at() const noexcept {
    return TimePoint(Duration(renew_at_.load()));
  }

  // The lease that its renewals ask for; no_lease: permanent.
  [[nodiscard]] Duration asked_lease() const noexcept { return made_.renew_with; }
  [[nodiscard]] RenewRequest renew_request() const;
  // The events of LeaseState. Each one returns true if it turned a held hold into a lost one; then
  // the caller must make sure that announce_loss is called.
  bool renewed(TimePoint sent, Duration lease);
  bool denied();
  bool failed();
  bool tick();
  bool lose(LostReason reason);
  // Runs the callbacks of lost(). Call it without holding any mutex.
  void announce_loss() noexcept;

  struct Released {
    bool was_held;    // false: it had been lost or released before
    bool newly_lost;  // nobody had noticed the loss yet: call announce_loss
  };
  // Ends the hold for its holder.
  Released release();

  // For calls that convert it or depend on that, each from beginning to end: one after the other.
  [[nodiscard]] std::unique_lock<std::mutex> convert_alone() {
    return std::unique_lock(converting_mutex_);
  }
  // From now on the store may end it for the hold that takes its place, so a denial is kept until
  // it is known whether that is why; meanwhile it counts as a renewal that failed. With `gives_up`
  // it is not valid meanwhile.
  void begin_conversion(bool gives_up);
  // It was not converted. True if newly lost by a denial meanwhile, as of the events above.
  bool end_conversion();

 private:
  template <class Event>
  bool apply(Event&& event);

  const Made made_;
  const ForkGuard fork_guard_;
  std::mutex converting_mutex_;
  mutable std::mutex mutex_;
  LeaseState lease_;
  // The end of validity in ns of the clock; 0 once valid() answered false, or the hold is lost or
  // released. Only raised while not 0, so that an answer "not valid" is never taken back.
  mutable std::atomic<Duration::rep> valid_until_;
  // Copies of lease_'s values, for callers that look at many holds, or at one very often.
  std::atomic<LeaseState::Phase> phase_{LeaseState::Phase::held};
  std::atomic<Duration::rep> renew_at_;
  bool announced_ = false;
  bool converting_ = false;
  bool denied_meanwhile_ = false;
  std::atomic<bool> given_up_{false};
  // Made on the first call of lost(): most holds are never watched.
  mutable std::stop_source lost_{std::nostopstate};
  mutable std::stop_source ended_{std::nostopstate};
};

}  // namespace lockset
