// Drives an acquire: carries out what the acquire loop decides, and keeps the grant.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/identity.h"
#include "core/machine.h"
#include "core/manager_call.h"
#include "core/migration_mark.h"
#include "core/time_math.h"

namespace lockset {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How often the store repeated the attempt inside; 0 for a stale configuration.
std::uint32_t collisions_of(const Result<AcquireOutcome>& outcome) {
  if (!outcome) return 0;
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) return grant->collisions;
  if (const Busy* busy = std::get_if<Busy>(&*outcome)) return busy->collisions;
  return 0;
}

std::string describe(const Busy& busy) {
  // Not busy by a hold: the store could not look yet.
  if (!busy.holder) return in_quotes(busy.name) + " is kept by " + busy.holder_label;
  return in_quotes(busy.name) + " is held (" + std::string(to_string(busy.mode)) + ", stamp " +
         std::to_string(busy.holder.value) + ") by " + busy.holder_label;
}

}  // namespace

Status Manager::may_ask(const Call& call, const SpaceConfig& config) const {
  if (call.lease == no_lease) {
    if (!traits_.permanent_leases) {
      return Error{Errc::unsupported, "this backend keeps no hold without a lease: set one"};
    }
  } else if (call.first_lease(config) > config.max_lease) {
    return Error{Errc::invalid, "a lease of " + format_duration(call.lease) +
                                    " is longer than this space allows (" +
                                    format_duration(config.max_lease) +
                                    "); raise it with `lockset init --max-lease`"};
  }
  const auto epoch = config.epochs.find(owner_.app);
  const bool taking_over = options_.reclaim && owner_.epoch == 0;
  if (epoch != config.epochs.end() && epoch->second > owner_.epoch && !taking_over) {
    return Error{
        Errc::superseded,
        owner_.epoch > 0
            ? "a newer instance of application " + in_quotes(owner_.app) + " has taken over"
            : "application " + in_quotes(owner_.app) +
                  " runs with reclaim: open with reclaim too, or use another id"};
  }
  // The store has lost this instance's hold on the application as well as its epoch. Another
  // instance could end a hold taken now at any moment, while this one would trust its earlier
  // validity.
  if (forgets_epoch(config, owner_)) {
    return Error{Errc::rolled_back,
                 "the store does not know that this instance of application " +
                     in_quotes(owner_.app) +
                     " has taken over: it was restored or wiped since; open the space again"};
  }
  return {};
}

Error Manager::application_lost() const {
  return {Errc::superseded, "this instance lost its hold on application " + in_quotes(owner_.app) +
                                " (" + std::string(to_string(app_hold_->lost_reason())) +
                                "): open the space again"};
}

// Without the hold on the application no new hold would be valid. The store may know a better
// reason for the error.
Status Manager::may_still_take(const Call& call) {
  if (!app_hold_ || app_hold_->valid()) return {};
  Result<SpaceConfig> now = backend_->load_config(std::min(io_deadline(), call.last_answer));
  if (now) {
    keeper_.take_config(*now);
    if (Status status = may_ask(call, *now); !status) return status;
  }
  return application_lost();
}

Result<std::shared_ptr<HoldState>> Manager::acquire(const LockSet& set,
                                                    const AcquireOptions& options,
                                                    bool single_try) {
  std::optional<Owner> labelled;
  std::optional<Call> call;
  Status status = prepare(call, labelled, set, options, single_try, thread_random());
  if (!status) return std::move(status).error();
  return acquire(*call);
}

Status Manager::prepare(std::optional<Call>& call, std::optional<Owner>& labelled,
                        const LockSet& set, const AcquireOptions& options, bool single_try,
                        Random& random) {
  if (Status status = usable(); !status) return status;
  const TimePoint now = BootClock::now();
  std::shared_ptr<const SpaceConfig> config = config_.get();
  const Duration lease = options.lease ? *options.lease : usual_lease(*config);
  if (lease < min_lease) {
    return Error{Errc::invalid, "the lease must be at least 1s, not " + format_duration(lease)};
  }
  if (options.wait < Duration::zero()) return Error{Errc::invalid, "a negative wait"};
  Result<std::vector<Expected>> condition = this->condition(set, options.unchanged_since);
  if (!condition) return std::move(condition).error();
  // During a takeover the application's epoch is not known, and nobody may renew.
  if (!options_.reclaim || app_hold_) {
    if (Status status = keeper_.start(); !status) return status;
  }
  if (options.label) {
    labelled = owner_;
    labelled->label = clean_label(*options.label);
  }
  AcquireLoop::Settings settings;
  settings.single_try = single_try;
  settings.deadline = single_try ? TimePoint::max() : later(now, options.wait);
  settings.patience = options_.store_patience;
  settings.push_wakeup = traits_.push_wakeup && clock_.is_machines();
  settings.queued_wakeup = settings.push_wakeup && traits_.queued_wakeup;
  call.emplace(set, labelled ? *labelled : owner_, lease, options.stop, settings,
               Stamp{high_water_.load()}, now, random);
  call->known_config = std::move(config);
  call->condition = *std::move(condition);
  call->ends_with_process = lease != no_lease && !options.outlives_process;
  return {};
}

Result<std::shared_ptr<HoldState>> Manager::acquire(Call& call) {
  AcquireLoop::Action action = call.loop.begin(call.began);
  for (;;) {
    action = until_wait(call, std::move(action));
    if (auto* finished = std::get_if<AcquireLoop::Finish>(&action)) {
      return finish(call, std::move(*finished));
    }
    action = carry_out(call, std::get<AcquireLoop::Wait>(action));
  }
}

AcquireLoop::Action Manager::until_wait(Call& call, AcquireLoop::Action action) {
  for (;;) {
    if (std::holds_alternative<AcquireLoop::Finish>(action)) return action;
    // A grant that nobody uses must be given back all the same.
    const bool must_do = std::holds_alternative<AcquireLoop::Discard>(action);
    if (call.stop.stop_requested() && !must_do) {
      return call.loop.stopped();
    }
    if (std::holds_alternative<AcquireLoop::Wait>(action)) return action;
    action = std::visit(
        [&]<class Step>(const Step& step) -> AcquireLoop::Action {
          if constexpr (std::is_same_v<Step, AcquireLoop::Finish> ||
                        std::is_same_v<Step, AcquireLoop::Wait>) {
            return step;  // not reached
          } else {
            return carry_out(call, step);
          }
        },
        action);
  }
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Attempt& attempt) {
  std::shared_ptr<const SpaceConfig> config =
      call.known_config ? std::exchange(call.known_config, nullptr) : config_.get();
  const TimePoint config_by = std::min(io_deadline(), call.last_answer);
  if (Status status = may_take_here(config, config_by); !status) {
    return call.loop.attempted(std::move(status).error(), call.read_clock());
  }
  if (Status status = may_ask(call, *config); !status) {
    return AcquireLoop::Finish(std::move(status).error());
  }
  if (Status status = may_still_take(call); !status) {
    return AcquireLoop::Finish(std::move(status).error());
  }
  call.permits.clear();
  for (const LockRequest& item : call.set.items()) {
    call.permits.push_back(config->permits_of(item.name).of(item.mode));
  }
  call.token = attempt.token;
  call.sent = on_lease_clock(call.now);
  AcquireRequest request;
  request.set = &call.set;
  request.permits = call.permits;
  request.config_version = config->version;
  request.max_overtakes = config->max_overtakes;
  request.token = attempt.token;
  request.owner = &call.owner;
  request.lease = call.first_lease(*config);
  request.will_wait = !call.single_try;
  request.ends_with_process = call.ends_with_process;
  request.ticket = call.ticket;
  request.unchanged_since = call.condition;
  const HoldRef replaced = call.replaces != nullptr ? call.replaces->ref() : HoldRef();
  if (call.replaces != nullptr) request.replaces = &replaced;
  request.by = std::min(io_deadline(call.now), call.last_answer);

  const Stamp above{high_water_.load()};
  Result<AcquireOutcome> outcome = refuse_old_stamp(call, backend_->try_acquire(request), above);
  call.read_clock();
  if (const std::uint32_t collisions = collisions_of(outcome); collisions != 0) {
    keeper_.tell({.kind = Event::Kind::collided, .items = call.set.items(), .count = collisions});
  }
  if (!outcome) {
    keeper_.tell({.kind = Event::Kind::retried,
                  .items = call.set.items(),
                  .detail = outcome.error().message});
  } else if (Busy* busy = std::get_if<Busy>(&*outcome)) {
    call.ticket = busy->ticket;
    if (options_.observer) {
      keeper_.tell({.kind = Event::Kind::busy,
                    .stamp = busy->holder,
                    .items = call.set.items(),
                    .took = call.now - call.began,
                    .detail = describe(*busy)});
    }
  } else if (std::holds_alternative<Stale>(*outcome)) {
    keeper_.tell({.kind = Event::Kind::stale, .items = call.set.items()});
    if (Status loaded = load_newer_config(request.by); !loaded) outcome = std::move(loaded).error();
    call.read_clock();
  } else {
    call.ticket.reset();  // the answer ended its registration
    if (std::holds_alternative<Gone>(*outcome)) call.replaced_has_ended = true;
  }
  return call.loop.attempted(std::move(outcome), call.now);
}

// The reason to refuse may be gone since `config` was read: then `config` is the new one.
Status Manager::may_take_here(std::shared_ptr<const SpaceConfig>& config, TimePoint by) {
  if (config->migration_phase == 0 || may_use_alone(config->migration_phase)) return {};
  Status loaded = load_newer_config(by);
  if (!loaded) return loaded;
  config = config_.get();
  return may_use_alone(config->migration_phase);
}

Status Manager::load_newer_config(TimePoint by) {
  Result<SpaceConfig> config = backend_->load_config(by);
  if (!config) {
    Error why = std::move(config).error();
    if (why.may_have_applied()) why.code = Errc::unavailable;
    return why;
  }
  keeper_.take_config(*std::move(config));
  return {};
}

KnownHold Manager::granted_to(const Call& call, Stamp stamp, std::int64_t store_time_us) {
  return {call.set, call.owner, call.token, stamp, store_time_us};
}

Result<AcquireOutcome> Manager::refuse_old_stamp(Call& call, Result<AcquireOutcome> outcome,
                                                 Stamp above) {
  const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  if (!grant) return outcome;
  call.replaced_has_ended = call.replaces != nullptr;
  if (grant->stamp > above) return outcome;
  const Stamp stamp = grant->stamp;
  give_back(call, granted_to(call, stamp), grant->lease);
  return Error{Errc::rolled_back, "the store granted stamp " + std::to_string(stamp.value) +
                                      " after " + std::to_string(above.value) +
                                      ": it was restored or wiped, and its holds can't be trusted"};
}

void Manager::give_back(const Call& call, KnownHold hold, Duration lease) {
  if (call.replaces != nullptr) keeper_.lose_converted(call.replaces->stamp());
  if (backend_->release(hold.ref(), owner_.app, io_deadline())) return;
  keeper_.tidy_later(std::move(hold), later(BootClock::now(), lease));
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Resolve& resolve) {
  const TimePoint by = std::min(io_deadline(call.now), call.last_answer);
  call.sent = on_lease_clock(call.now);
  call.token = resolve.token;
  Result<std::optional<Grant>> found = backend_->resolve(granted_to(call, {}).ref(), by);
  if (found && *found) {
    Result<AcquireOutcome> checked =
        refuse_old_stamp(call, AcquireOutcome(std::move(**found)), call.high_water);
    if (!checked) return AcquireLoop::Finish(std::move(checked).error());
    *found = std::get<Grant>(std::move(*checked));
  }
  if (found) {
    keeper_.tell({.kind = Event::Kind::resolved,
                  .stamp = *found ? (*found)->stamp : Stamp{},
                  .items = call.set.items()});
  }
  return call.loop.resolved(std::move(found), call.read_clock());
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Discard& discard) {
  give_back(call, granted_to(call, discard.stamp), call.lease);
  // It met the condition and wrote nothing: the next attempt continues from it.
  for (Expected& each : call.condition) {
    if (call.set.items()[each.item].mode == Mode::write) each.last_write = discard.stamp;
  }
  return call.loop.discarded(call.read_clock());
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Wait& wait) {
  const bool hinted = wait.for_change && call.ticket &&
                      backend_->await_change(*call.ticket, wait.until, call.stop).ok();
  if (!hinted) sleep_until(wait.until, call.stop);
  if (call.stop.stop_requested()) return call.loop.stopped();
  return call.loop.waited(call.read_clock());
}

Result<std::shared_ptr<HoldState>> Manager::finish(Call& call, AcquireLoop::Finish finish) {
  if (call.ticket && BootClock::now() < call.goodbye_by) {
    backend_->end_wait(*call.ticket, std::min(io_deadline(), call.goodbye_by));
  }
  for (const AcquireLoop::Doubt& doubt : call.loop.doubts()) {
    // A request on its way may still be granted, at the latest until its connection is closed; its
    // hold ends a lease after that.
    Duration lease = call.first_lease(*config_.get());
    // A converted hold keeps what was left.
    if (call.replaces != nullptr) lease = std::max(lease, call.replaces->lease());
    const TimePoint over =
        later(later(later(doubt.sent, lease), options_.io_timeout), options_.io_timeout);
    const Stamp replaces = call.replaces != nullptr ? call.replaces->stamp() : Stamp{};
    keeper_.tidy_later({call.set, call.owner, doubt.token}, over, replaces);
  }
  if (auto* granted = std::get_if<AcquireLoop::Granted>(&finish)) {
    return keep(call, std::move(*granted));
  }
  if (std::holds_alternative<AcquireLoop::Contended>(finish)) return std::shared_ptr<HoldState>();
  if (const auto* changed = std::get_if<Changed>(&finish)) {
    return refused_as_changed(call, *changed);
  }
  if (std::holds_alternative<Gone>(finish)) return not_held(call.replaces->stamp(), owner_.app);
  Error& error = std::get<Error>(finish);
  if (error.code == Errc::timeout) {
    keeper_.tell({.kind = Event::Kind::timed_out,
                  .items = call.set.items(),
                  .took = BootClock::now() - call.began,
                  .detail = error.message});
  }
  return std::move(error);
}

Result<std::shared_ptr<HoldState>> Manager::keep(Call& call, AcquireLoop::Granted granted) {
  const Stamp stamp = granted.grant.stamp;
  raise_high_water(stamp);
  const std::int64_t store_time = granted.grant.store_time_us;
  const ClockReading reading{call.sent, on_lease_clock(call.now), store_time};
  auto hold = std::make_shared<HoldState>(HoldState::Made{
      granted_to(call, stamp, store_time), std::move(granted.grant.floors), granted.grant.lease,
      call.sent, call.lease, weak_from_this(), app_hold_, clock_, call.ends_with_process});
  if (!hold->valid()) {
    give_back(call, hold->known(), hold->granted_lease());
    if (app_hold_ && !app_hold_->valid()) return application_lost();
    return Error{Errc::unavailable, "the lease expired before the grant arrived"};
  }
  // First, so that no two of them are ever valid at a time.
  if (call.replaces != nullptr) retire(*call.replaces);
  keeper_.add(hold, reading);
  // Its Locks may be destroyed while a Hold is converted: then its close() may have come too early
  // to see the new one.
  if (closed_ && keeper_.remove(stamp)) {
    hold->release();
    give_back(call, hold->known(), hold->granted_lease());
    return usable().error();
  }
  // A converted hold has taken over the lease of a permanent one.
  if (call.lease == no_lease && call.replaces == nullptr) {
    if (Status status = make_permanent(*hold); !status) return give_up(*hold, status);
  }
  if (options_.observer) {
    keeper_.tell({.kind = Event::Kind::granted,
                  .stamp = stamp,
                  .items = hold->set().items(),
                  .took = BootClock::now() - call.began});
  }
  return hold;
}

// Ends a hold that could not be made permanent. If a reply was lost, it may be permanent after all,
// and then its lease would never end.
Error Manager::give_up(HoldState& hold, const Status& why) {
  const std::shared_ptr<HoldState> kept = keeper_.remove(hold.stamp());
  if (hold.release().newly_lost && kept) keeper_.announce(kept);
  bool reply_lost = false;
  const bool gone = release_in_store(hold.ref(), io_deadline(), reply_lost).ok();
  if (!gone) keeper_.tidy_later(hold.known(), TimePoint::max());
  return {gone ? Errc::unavailable : Errc::indeterminate,
          "it was granted, and could not be made permanent: " + why.error().message};
}

Status Manager::make_permanent(HoldState& hold) {
  for (;;) {
    Status status = keeper_.renew_now(hold);
    if (status) return status;
    // The keeper renews it as well, and may have learned by now that it is permanent. If the store
    // failed again, this thread would not learn it, and the validity has no end to wait for.
    if (hold.valid_until() == TimePoint::max()) return {};
    const bool again = status.error().retryable() || status.error().may_have_applied();
    if (!again || !hold.valid()) return status;
    sleep_until(later(BootClock::now(), milliseconds(100)), {});
  }
}

void Manager::raise_high_water(Stamp stamp) noexcept {
  std::int64_t seen = high_water_.load();
  while (seen < stamp.value && !high_water_.compare_exchange_weak(seen, stamp.value)) {
  }
}

}  // namespace lockset
