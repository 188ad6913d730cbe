// Releasing, renewing and detaching holds, and the configuration of the space.
#include <utility>

#include "core/identity.h"
#include "core/machine.h"
#include "core/manager.h"
#include "core/time_math.h"

namespace lockset {
using std::chrono::milliseconds;

Error Manager::not_held(Stamp stamp, const std::string& app) {
  return {Errc::not_held, "stamp " + std::to_string(stamp.value) + " is not held by application " +
                              in_quotes(app) +
                              ": released, expired, broken, or another application's"};
}

Result<bool> Manager::release_in_store(const HoldRef& hold, TimePoint by, bool& reply_lost) {
  Duration pause = milliseconds(20);
  for (;;) {
    Result<bool> result = backend_->release(hold, owner_.app, by);
    if (result) return result;
    reply_lost = reply_lost || result.error().may_have_applied();
    const bool again = result.error().retryable() || result.error().may_have_applied();
    if (!again || later(BootClock::now(), pause) >= by) {
      keeper_.tell({.kind = Event::Kind::release_failed,
                    .stamp = hold.stamp,
                    .detail = result.error().message});
      return result;
    }
    sleep_until(later(BootClock::now(), pause), {});
    pause *= 2;
  }
}

Status Manager::release(HoldState& hold) {
  if (Status status = usable(); !status) return status;
  const TimePoint began = BootClock::now();
  const TimePoint valid_until = hold.valid_until();
  const HoldState::Released released = hold.release();
  const std::shared_ptr<HoldState> kept = keeper_.remove(hold.stamp());
  if (released.newly_lost && kept) keeper_.announce(kept);
  if (!released.was_held) {
    if (kept && outlasts_its_loss(*kept)) keeper_.tidy_later(hold.known(), TimePoint::max());
    return not_held(hold.stamp(), owner_.app);
  }

  bool reply_lost = false;
  Result<bool> result = release_in_store(hold.ref(), io_deadline(began), reply_lost);
  if (!result) {
    keeper_.tidy_later(hold.known(), later(BootClock::now(), hold.lease()));
    return std::move(result).error();
  }
  // The hold is gone after a lost reply: while it was valid, only we can have released it.
  const bool ours = *result || (reply_lost && clock_.now() < valid_until);
  if (!ours) return not_held(hold.stamp(), owner_.app);
  if (options_.observer) {
    keeper_.tell({.kind = Event::Kind::released,
                  .stamp = hold.stamp(),
                  .items = hold.set().items(),
                  .took = BootClock::now() - began});
  }
  return {};
}

Status Manager::release(Stamp stamp) {
  if (Status status = usable(); !status) return status;
  if (const auto hold = keeper_.find(stamp)) return release(*hold);
  bool reply_lost = false;
  Result<bool> result = release_in_store(stamp, io_deadline(), reply_lost);
  if (!result) return std::move(result).error();
  if (*result) return {};
  if (reply_lost) {
    return Error{Errc::indeterminate, "stamp " + std::to_string(stamp.value) +
                                          " is not held now; a reply was lost, so that it may "
                                          "have been released just now or before"};
  }
  return not_held(stamp, owner_.app);
}

Result<bool> Manager::break_hold(Stamp stamp) {
  const auto hold = keeper_.find(stamp);
  // A lost hold is passed by its stamp alone: a store might believe that it is live.
  const bool known = hold && hold->valid();
  return backend_->break_hold(known ? hold->ref() : HoldRef(stamp), io_deadline());
}

Status Manager::renew(HoldState& hold) {
  if (Status status = usable(); !status) return status;
  // While it is converted, a denial would say nothing.
  const auto alone = hold.convert_alone();
  return keeper_.renew_now(hold);
}

Result<Duration> Manager::renew(Stamp stamp, std::optional<Duration> lease) {
  if (Status status = usable(); !status) return std::move(status).error();
  const Duration wanted = lease ? *lease : usual_lease(*config_.get());
  if (wanted < min_lease) {
    return Error{Errc::invalid, "the lease must be at least 1s, not " + format_duration(wanted)};
  }
  if (wanted == no_lease && !traits_.permanent_leases) {
    return Error{Errc::unsupported, "this backend keeps no hold without a lease: set one"};
  }
  Result<SpaceConfig> config = load_config();
  if (!config) return std::move(config).error();
  if (wanted != no_lease && wanted > config->max_lease) {
    return Error{Errc::invalid, "a lease of " + format_duration(wanted) +
                                    " is longer than this space allows (" +
                                    format_duration(config->max_lease) + ")"};
  }
  const bool permanent = wanted == no_lease;
  if (permanent) {
    if (Status status = may_be_permanent(stamp); !status) return std::move(status).error();
  }
  const auto hold = keeper_.find(stamp);
  // A lost hold is passed by its stamp alone: a store that lost it too would register it again.
  const bool known = hold && hold->valid();
  const RenewRequest request{known ? hold->ref() : HoldRef(stamp),
                             permanent ? default_lease : wanted, permanent};
  TimePoint sent = clock_.now();
  Result<RenewReply> reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  if (!reply && reply.error().may_have_applied()) {  // renewing twice is harmless
    sent = clock_.now();
    reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  }
  if (!reply) return std::move(reply).error();
  if (reply->renewals.size() != 1 || !reply->renewals.front()) {
    if (hold && hold->denied()) keeper_.announce(hold);
    return not_held(stamp, owner_.app);
  }
  const Duration granted = reply->renewals.front()->lease;
  if (hold && hold->renewed(sent, granted)) keeper_.announce(hold);
  return granted;
}

// The hold on an application id may not be permanent: nobody could take over after its holder's
// death.
Status Manager::may_be_permanent(Stamp stamp) {
  const InspectQuery of_app{InspectQuery::Match::name, "@app:" + owner_.app};
  Result<Inspection> found = backend_->inspect(of_app, io_deadline());
  if (!found) return std::move(found).error();
  for (const HoldInfo& hold : found->holds) {
    if (hold.stamp != stamp) continue;
    return Error{Errc::invalid, "stamp " + std::to_string(stamp.value) +
                                    " is the hold of application " + in_quotes(owner_.app) +
                                    " on its own id, which always has a lease"};
  }
  return {};
}

Result<Stamp> Manager::detach(HoldState& hold) {
  if (Status status = usable(); !status) return std::move(status).error();
  if (!traits_.holds_outlive_process) {
    return Error{Errc::unsupported,
                 "with this backend no hold outlives its process: keep it with lockset run, or "
                 "in the program that took it"};
  }
  if (traits_.ends_with_process && hold.ends_with_process() && hold.valid()) {
    if (Status status = outlive_process(hold); !status) return std::move(status).error();
  }
  const HoldState::Released released = hold.release();
  const std::shared_ptr<HoldState> kept = keeper_.remove(hold.stamp());
  if (released.newly_lost && kept) keeper_.announce(kept);
  if (!released.was_held) return not_held(hold.stamp(), owner_.app);
  return hold.stamp();
}

Status Manager::outlive_process(const HoldState& hold) {
  // A renewal never shortens a lease.
  const RenewRequest request{.hold = hold.ref(), .lease = min_lease, .outlives_process = true};
  Result<RenewReply> reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  if (!reply && reply.error().may_have_applied()) {  // renewing twice is harmless
    reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  }
  if (!reply) return std::move(reply).error();
  if (reply->renewals.size() != 1 || !reply->renewals.front()) {
    return not_held(hold.stamp(), owner_.app);
  }
  return {};
}

Status Manager::change_config(const ConfigChange& change) {
  if (Status status = usable(); !status) return status;
  if (Status status = check_change(change); !status) return status;
  Result<SpaceConfig> config = backend_->change_config(change, io_deadline());
  // Setting a value twice is harmless, so a call whose reply was lost is repeated.
  if (!config && (config.error().retryable() || config.error().may_have_applied())) {
    config = backend_->change_config(change, io_deadline());
  }
  if (!config) return std::move(config).error();
  keeper_.take_config(std::move(*config));
  return {};
}

Result<SpaceConfig> Manager::load_config() {
  if (Status status = usable(); !status) return std::move(status).error();
  Result<SpaceConfig> config = backend_->load_config(io_deadline());
  if (config) keeper_.take_config(*config);
  return config;
}

}  // namespace lockset
