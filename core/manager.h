// The implementation of Locks: runs the acquire loop against a backend, and hands grants to the
// keeper.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/acquire_loop.h"
#include "core/config_cache.h"
#include "core/fork_guard.h"
#include "core/hold_state.h"
#include "core/keeper.h"
#include "core/lease_clock.h"
#include "core/random.h"
#include "core/tasks.h"
#include "lockset/locks.h"

namespace lockset {

// Thread-safe. Shared by Locks and, weakly, by the holds that it granted.
class Manager : public std::enable_shared_from_this<Manager> {
 public:
  // Loads the configuration, and takes the application over if asked to.
  static Result<std::shared_ptr<Manager>> open(std::unique_ptr<Backend> backend, Options options);

  // Null: contention, only for a single try.
  Result<std::shared_ptr<HoldState>> acquire(const LockSet& set, const AcquireOptions& options,
                                             bool single_try);
  // The same without a thread that waits: ADR 0070. `done` is called once, on a thread of its own,
  // or at once if the call fails at once; after close() has returned nobody calls it.
  void start_acquire(const LockSet& set, const AcquireOptions& options,
                     std::function<void(Result<std::shared_ptr<HoldState>>)> done);
  void start_release(std::shared_ptr<HoldState> hold, std::function<void(Status)> done);
  Status release(HoldState& hold);
  Status release(Stamp stamp);
  Status renew(HoldState& hold);
  Result<Duration> renew(Stamp stamp, std::optional<Duration> lease);
  Result<bool> break_hold(Stamp stamp);
  Result<Stamp> detach(HoldState& hold);
  // Takes the names of `hold` as `mode` instead, in one step. Null: contention.
  Result<std::shared_ptr<HoldState>> convert(HoldState& hold, Mode mode);
  Result<std::shared_ptr<HoldState>> convert(Stamp stamp, Mode mode);

  // Releases everything that it manages, and stops. Later calls fail with Errc::invalid.
  void close() noexcept;

  // This object is never destroyed after this: for a forked child, to which it does not belong.
  void leak() noexcept { self_ = shared_from_this(); }

  // For names in canonical order.
  Result<std::vector<Trace>> observe(std::span<const std::string> names);
  Result<std::vector<Change>> changes_since(const Observation& observation);

  Status change_config(const ConfigChange& change);
  Result<SpaceConfig> load_config();

  // Errc::invalid in a forked child.
  [[nodiscard]] Status usable() const;
  [[nodiscard]] bool in_child() const noexcept { return fork_guard_.in_child(); }
  [[nodiscard]] Backend& backend() noexcept { return *backend_; }
  [[nodiscard]] const Keeper& keeper() const noexcept { return keeper_; }
  [[nodiscard]] const ConfigCache& config() const noexcept { return config_; }
  [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
  [[nodiscard]] TimePoint io_deadline() const noexcept;
  [[nodiscard]] TimePoint io_deadline(TimePoint now) const noexcept;

  Manager(std::unique_ptr<Backend> backend, Options options);

 private:
  struct Call;  // one acquire under way

  class AcquireTask;
  class ReleaseTask;

  Status take_over();
  // Checks the options. `set`, `labelled` and `random` have to outlive the call.
  Status prepare(std::optional<Call>& call, std::optional<Owner>& labelled, const LockSet& set,
                 const AcquireOptions& options, bool single_try, Random& random);
  Result<std::shared_ptr<HoldState>> acquire(Call& call);
  // Carries out actions until there is one to Wait or to Finish.
  AcquireLoop::Action until_wait(Call& call, AcquireLoop::Action action);
  AcquireLoop::Action carry_out(Call& call, const AcquireLoop::Attempt& attempt);
  AcquireLoop::Action carry_out(Call& call, const AcquireLoop::Resolve& resolve);
  AcquireLoop::Action carry_out(Call& call, const AcquireLoop::Discard& discard);
  AcquireLoop::Action carry_out(Call& call, const AcquireLoop::Wait& wait);
  Result<std::shared_ptr<HoldState>> finish(Call& call, AcquireLoop::Finish finish);
  Result<std::shared_ptr<HoldState>> keep(Call& call, AcquireLoop::Granted granted);
  Status make_permanent(HoldState& hold);
  Error give_up(HoldState& hold, const Status& why);
  // manager_convert.cpp
  Result<LockSet> set_to_convert_to(const HoldState& hold, Mode mode) const;
  Result<std::shared_ptr<HoldState>> not_converted(const Call& call,
                                                   Result<std::shared_ptr<HoldState>> outcome);
  void retire(HoldState& replaced);
  Result<AcquireOutcome> refuse_old_stamp(Call& call, Result<AcquireOutcome> outcome, Stamp above);
  // Loads the configuration after a stale answer. The attempt was not applied, even if this fails.
  Status load_newer_config(TimePoint by);
  // The hold that the call's last attempt was granted.
  static KnownHold granted_to(const Call& call, Stamp stamp, std::int64_t store_time_us = 0);
  // The moment on the holds' clock that corresponds to `machines_now` on the machine's clock.
  [[nodiscard]] TimePoint on_lease_clock(TimePoint machines_now) const noexcept;
  // The lease for a hold that asks for none, or for no_lease.
  static Duration finite_lease(const SpaceConfig& config);
  static Error not_held(Stamp stamp, const std::string& app);
  // A permanent hold that was lost here alone stays in the store until somebody ends it.
  static bool outlasts_its_loss(const HoldState& hold);
  [[nodiscard]] Duration usual_lease(const SpaceConfig& config) const;
  Status may_ask(const Call& call, const SpaceConfig& config) const;
  Status may_still_take(const Call& call);
  [[nodiscard]] Error application_lost() const;  // REQUIRES: app_hold_
  Status may_be_permanent(Stamp stamp);
  // Releases a grant of this call that nobody uses; in the background if the store does not answer.
  void give_back(const Call& call, KnownHold hold, Duration lease);
  Status may_take_here(std::shared_ptr<const SpaceConfig>& config, TimePoint by);
  // The condition for the store. Errc::changed if it can't be met.
  Result<std::vector<Expected>> condition(const LockSet& set,
                                          const std::optional<Observation>& seen) const;
  [[nodiscard]] Change change_of(std::string name, const Trace& trace) const;
  Error refused_as_changed(const Call& call, const Changed& changed) const;
  void raise_high_water(Stamp stamp) noexcept;
  // Releases the remaining holds when the manager closes.
  void release_all(std::span<const std::shared_ptr<HoldState>> holds, TimePoint by);
  // Releases in the store, and repeats it after a lost reply, until `by`.
  Result<bool> release_in_store(const HoldRef& hold, TimePoint by, bool& reply_lost);
  // Tells the store that the hold does not end with this process.
  Status outlive_process(const HoldState& hold);

  const Options options_;
  const ForkGuard fork_guard_;
  const std::unique_ptr<Backend> backend_;
  const Traits traits_;
  const LeaseClock clock_;
  Owner owner_;
  ConfigCache config_;
  Keeper keeper_;
  std::shared_ptr<HoldState> app_hold_;
  // The greatest stamp granted here so far. Semantics 8.
  std::atomic<std::int64_t> high_water_{0};
  std::atomic<bool> closed_{false};
  // When waits that close() ends have to be over. Written before tasks_ stops.
  TimePoint closing_by_ = TimePoint::max();
  Tasks tasks_;
  std::shared_ptr<Manager> self_;
};

}  // namespace lockset
