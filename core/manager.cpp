#include "core/manager.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/identity.h"
#include "core/machine.h"
#include "core/migration_mark.h"
#include "core/time_math.h"

namespace lockset {
namespace {

// How often the store repeated the attempt inside; none of it for an old configuration.
std::uint32_t collisions_of(const Result<AcquireOutcome>& outcome) {
  if (!outcome) return 0;
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) return grant->collisions;
  if (const Busy* busy = std::get_if<Busy>(&*outcome)) return busy->collisions;
  return 0;
}

using std::chrono::milliseconds;
using std::chrono::seconds;

// Where none is asked for, or none at all.
Duration finite_lease(const SpaceConfig& config) {
  return std::min(default_lease, config.max_lease);
}

Error not_held(Stamp stamp, const std::string& app) {
  return {Errc::not_held, "stamp " + std::to_string(stamp.value) + " is not held by application " +
                              in_quotes(app) +
                              ": released, expired, broken, or another application's"};
}

std::string describe(const Busy& busy) {
  // Not by a hold: the store could not look yet.
  if (!busy.holder) return in_quotes(busy.name) + " is kept by " + busy.holder_label;
  return in_quotes(busy.name) + " is held (" + std::string(to_string(busy.mode)) + ", stamp " +
         std::to_string(busy.holder.value) + ") by " + busy.holder_label;
}

// A permanent hold that was lost with its application is there until somebody ends it.
bool outlasts_its_loss(const HoldState& hold) {
  const LostReason why = hold.lost_reason();
  return hold.lease() == no_lease && (why == LostReason::app_lost || why == LostReason::superseded);
}

}  // namespace

// One acquire under way.
struct Manager::Call {
  Call(const LockSet& wanted, const Owner& for_owner, Duration with_lease, std::stop_token until,
       const AcquireLoop::Settings& settings, Stamp above, TimePoint called)
      : set(wanted),
        owner(for_owner),
        lease(with_lease),
        stop(std::move(until)),
        single_try(settings.single_try),
        last_answer(later(settings.deadline, seconds(1))),
        high_water(above),
        began(called),
        now(called),
        loop(settings, thread_random(), [] { return Token::random(); }) {}

  const LockSet& set;
  const Owner& owner;
  const Duration lease;  // no_lease: permanent
  const std::stop_token stop;
  const bool single_try;
  // A hanging store must not keep the caller far beyond its deadline; but the last
  // try at the deadline needs time for its round trip.
  const TimePoint last_answer;
  const Stamp high_water;  // at the beginning
  const TimePoint began;
  TimePoint now;  // when the action under way was decided on
  // When the attempt or question under way was sent, by the holds' clock.
  TimePoint sent;
  AcquireLoop loop;
  Token token;  // of the last attempt or question
  std::vector<std::uint32_t> permits;
  std::shared_ptr<WaitTicket> ticket;
  // What the first attempt is made from, if it was read before.
  std::shared_ptr<const SpaceConfig> known_config;

  TimePoint read_clock() { return now = BootClock::now(); }

  // The lease to ask the store for: a permanent hold begins with a finite one.
  [[nodiscard]] Duration first_lease(const SpaceConfig& config) const {
    return lease == no_lease ? finite_lease(config) : lease;
  }
};

Manager::Manager(std::unique_ptr<Backend> backend, Options options)
    : options_(std::move(options)),
      backend_(std::move(backend)),
      traits_(backend_->traits()),
      clock_(traits_.clock),
      owner_{options_.app.empty() ? default_app() : options_.app,
             Token::random().hex() + "-" LOCKSET_VERSION, 0,
             clean_label(options_.label.empty() ? default_label() : options_.label)},
      keeper_(*backend_, owner_, config_,
              {options_.io_timeout, options_.refresh_config, options_.observer, clock_}) {}

Result<std::shared_ptr<Manager>> Manager::open(std::unique_ptr<Backend> backend, Options options) {
  const auto invalid = [](std::string why) { return Error{Errc::invalid, std::move(why)}; };
  if (!options.app.empty()) {
    if (Status status = check_app(options.app); !status) return std::move(status).error();
  } else if (options.reclaim) {
    return invalid("reclaim needs an application id of its own: set `app`");
  }
  if (options.lease && *options.lease < min_lease) {
    return invalid("the lease must be at least 1s, not " + format_duration(*options.lease));
  }
  if (options.io_timeout <= Duration::zero()) return invalid("the I/O timeout must be positive");
  if (options.refresh_config < milliseconds(1)) {
    return invalid("the configuration can't be refreshed more often than each millisecond");
  }
  if (options.clock != nullptr &&
      LeaseClock(options.clock) != LeaseClock(backend->traits().clock)) {
    return invalid(
        "the store counts leases on another clock than Options::clock, so that two holders could "
        "be valid at a time: give both the same one, as make_memory_store(clock) does");
  }
  auto manager = std::make_shared<Manager>(std::move(backend), std::move(options));
  Result<SpaceConfig> config = manager->load_config();
  if (!config) return std::move(config).error();
  if (manager->options_.reclaim) {
    if (Status status = manager->take_over(); !status) {
      manager->close();
      return std::move(status).error();
    }
  }
  return manager;
}

Status Manager::take_over() {
  Result<LockSet> set = LockSet::make({write("@app:" + owner_.app)}, LockSet::Names::reserved_too);
  if (!set) return std::move(set).error();
  // Always with a lease, or nobody could take over after this process has died.
  const Duration lease = usual_lease(*config_.get());
  AcquireOptions with_lease;
  if (lease == no_lease) with_lease.lease = finite_lease(*config_.get());
  Result<std::shared_ptr<HoldState>> hold = acquire(*set, with_lease, true);
  if (!hold) return std::move(hold).error();
  if (!*hold) {
    return Error{Errc::app_in_use, "another instance of application " + in_quotes(owner_.app) +
                                       " runs, or has died less than a lease ago"};
  }
  app_hold_ = *hold;
  keeper_.set_app_hold(app_hold_);
  owner_.epoch = app_hold_->stamp().value;
  Result<std::size_t> ended = backend_->reclaim(owner_.app, owner_.epoch, io_deadline());
  // To reclaim twice does no harm, so a lost reply is simply asked for again.
  if (!ended && (ended.error().retryable() || ended.error().may_have_applied())) {
    ended = backend_->reclaim(owner_.app, owner_.epoch, io_deadline());
  }
  if (!ended) return std::move(ended).error();
  Result<SpaceConfig> config = load_config();
  if (!config) return std::move(config).error();
  return keeper_.start();
}

Status Manager::usable() const {
  if (in_child()) {
    return Error{Errc::invalid,
                 "these locks were opened before fork(): open the space again in the child"};
  }
  if (closed_) return Error{Errc::invalid, "the lock manager is closed"};
  return {};
}

TimePoint Manager::io_deadline() const noexcept { return io_deadline(BootClock::now()); }

TimePoint Manager::on_lease_clock(TimePoint machines_now) const noexcept {
  return clock_.is_machines() ? machines_now : clock_.now();
}

TimePoint Manager::io_deadline(TimePoint now) const noexcept {
  return later(now, options_.io_timeout);
}

Duration Manager::usual_lease(const SpaceConfig& config) const {
  return options_.lease ? *options_.lease : finite_lease(config);
}

// --- acquire ---

Status Manager::may_ask(const Call& call, const SpaceConfig& config) const {
  if (call.lease == no_lease) {
    if (!traits_.permanent_leases) {
      return Error{Errc::unsupported, "this backend keeps no hold without a lease: set one"};
    }
  } else if (call.lease > config.max_lease) {
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
  // Its hold on the application is as little there as its epoch: what it took now, another instance
  // might end any moment, while it would go by the validity of before.
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

// Without its hold on the application nothing that it took would be valid. The store may know
// a better reason.
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
  if (Status status = usable(); !status) return std::move(status).error();
  const TimePoint now = BootClock::now();
  std::shared_ptr<const SpaceConfig> config = config_.get();
  const Duration lease = options.lease ? *options.lease : usual_lease(*config);
  if (lease < min_lease) {
    return Error{Errc::invalid, "the lease must be at least 1s, not " + format_duration(lease)};
  }
  if (options.wait < Duration::zero()) return Error{Errc::invalid, "a negative wait"};
  // While an application is taken over its epoch is not known, and nobody may renew.
  if (!options_.reclaim || app_hold_) {
    if (Status status = keeper_.start(); !status) return std::move(status).error();
  }

  std::optional<Owner> labelled;
  if (options.label) {
    labelled = owner_;
    labelled->label = clean_label(*options.label);
  }
  AcquireLoop::Settings settings;
  settings.single_try = single_try;
  settings.deadline = single_try ? TimePoint::max() : later(now, options.wait);
  settings.patience = options_.store_patience;
  settings.push_wakeup = traits_.push_wakeup && clock_.is_machines();
  Call call(set, labelled ? *labelled : owner_, lease, options.stop, settings,
            Stamp{high_water_.load()}, now);
  call.known_config = std::move(config);
  return acquire(call);
}

Result<std::shared_ptr<HoldState>> Manager::acquire(Call& call) {
  AcquireLoop::Action action = call.loop.begin(call.began);
  for (;;) {
    if (auto* finished = std::get_if<AcquireLoop::Finish>(&action)) {
      return finish(call, std::move(*finished));
    }
    // What was granted in vain is given back all the same.
    const bool must_do = std::holds_alternative<AcquireLoop::Discard>(action);
    if (call.stop.stop_requested() && !must_do) {
      action = call.loop.stopped();
      continue;
    }
    action = std::visit(
        [&]<class Step>(const Step& step) -> AcquireLoop::Action {
          if constexpr (std::is_same_v<Step, AcquireLoop::Finish>) {
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
  if (Status status = may_take_here(config, call); !status) {
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
  request.token = attempt.token;
  request.owner = &call.owner;
  request.lease = call.first_lease(*config);
  request.will_wait = !call.single_try;
  request.ticket = call.ticket;
  request.by = std::min(io_deadline(call.now), call.last_answer);

  const Stamp above{high_water_.load()};
  Result<AcquireOutcome> outcome = refuse_old_stamp(backend_->try_acquire(request), above);
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
  } else if (Stale* stale = std::get_if<Stale>(&*outcome)) {
    keeper_.tell({.kind = Event::Kind::stale, .items = call.set.items()});
    keeper_.take_config(std::move(stale->config));
  } else {
    call.ticket.reset();  // the grant ended its registration
  }
  return call.loop.attempted(std::move(outcome), call.now);
}

// What forbids it may be over since it was read: then `config` is the new one.
Status Manager::may_take_here(std::shared_ptr<const SpaceConfig>& config, const Call& call) {
  if (config->migration_phase == 0 || may_use_alone(config->migration_phase)) return {};
  Result<SpaceConfig> now = backend_->load_config(std::min(io_deadline(), call.last_answer));
  if (!now) {
    // The attempt was not sent: whatever became of the question, nothing was applied.
    Error why = std::move(now).error();
    if (why.may_have_applied()) why.code = Errc::unavailable;
    return why;
  }
  keeper_.take_config(*now);
  config = std::make_shared<const SpaceConfig>(*std::move(now));
  return may_use_alone(config->migration_phase);
}

Result<AcquireOutcome> Manager::refuse_old_stamp(Result<AcquireOutcome> outcome, Stamp above) {
  const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  if (!grant || grant->stamp > above) return outcome;
  const Stamp stamp = grant->stamp;
  give_back(stamp, grant->lease);
  return Error{Errc::rolled_back, "the store granted stamp " + std::to_string(stamp.value) +
                                      " after " + std::to_string(above.value) +
                                      ": it was restored or wiped, and its holds can't be trusted"};
}

void Manager::give_back(Stamp stamp, Duration lease) {
  if (backend_->release(stamp, owner_.app, io_deadline())) return;
  keeper_.tidy_later(stamp, later(BootClock::now(), lease));
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Resolve& resolve) {
  const TimePoint by = std::min(io_deadline(call.now), call.last_answer);
  call.sent = on_lease_clock(call.now);
  Result<std::optional<Grant>> found = backend_->resolve(resolve.token, by);
  if (found && *found) {
    Result<AcquireOutcome> checked =
        refuse_old_stamp(AcquireOutcome(std::move(**found)), call.high_water);
    if (!checked) return AcquireLoop::Finish(std::move(checked).error());
    *found = std::get<Grant>(std::move(*checked));
  }
  if (found) {
    keeper_.tell({.kind = Event::Kind::resolved,
                  .stamp = *found ? (*found)->stamp : Stamp{},
                  .items = call.set.items()});
  }
  call.token = resolve.token;
  return call.loop.resolved(std::move(found), call.read_clock());
}

AcquireLoop::Action Manager::carry_out(Call& call, const AcquireLoop::Discard& discard) {
  give_back(discard.stamp, call.lease);
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
  if (call.ticket) backend_->end_wait(*call.ticket, io_deadline());
  for (const AcquireLoop::Doubt& doubt : call.loop.doubts()) {
    // A request on its way may still be granted, until the connection is given up at
    // the latest; its hold ends a lease after that.
    const Duration lease = call.first_lease(*config_.get());
    keeper_.tidy_later(doubt.token, later(later(later(doubt.sent, lease), options_.io_timeout),
                                          options_.io_timeout));
  }
  if (auto* granted = std::get_if<AcquireLoop::Granted>(&finish)) {
    return keep(call, std::move(*granted));
  }
  if (std::holds_alternative<AcquireLoop::Contended>(finish)) return std::shared_ptr<HoldState>();
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
  const ClockReading reading{call.sent, on_lease_clock(call.now), granted.grant.store_time_us};
  auto hold = std::make_shared<HoldState>(
      HoldState::Made{call.set, call.token, std::move(granted.grant), call.sent, call.lease,
                      weak_from_this(), app_hold_, clock_});
  if (!hold->valid()) {
    give_back(stamp, hold->granted_lease());
    if (app_hold_ && !app_hold_->valid()) return application_lost();
    return Error{Errc::unavailable, "the lease expired before the grant arrived"};
  }
  keeper_.add(hold, reading);
  if (call.lease == no_lease) {
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

// Of a hold that could not be made permanent, as far as is known: a lost reply may have made it
// so, and then its lease would never end.
Error Manager::give_up(HoldState& hold, const Status& why) {
  const std::shared_ptr<HoldState> kept = keeper_.remove(hold.stamp());
  if (hold.release().newly_lost && kept) keeper_.announce(kept);
  bool reply_lost = false;
  const bool gone = release_in_store(hold.stamp(), io_deadline(), reply_lost).ok();
  if (!gone) keeper_.tidy_later(hold.stamp(), TimePoint::max());
  return {gone ? Errc::unavailable : Errc::indeterminate,
          "it was granted, and could not be made permanent: " + why.error().message};
}

Status Manager::make_permanent(HoldState& hold) {
  for (;;) {
    Status status = keeper_.renew_now(hold);
    if (status) return status;
    // The keeper renews it as well, and may have been told by now that it is permanent. With the
    // store gone again nobody would tell it here, and its validity ends no more.
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

// --- release, renew ---

Result<bool> Manager::release_in_store(Stamp stamp, TimePoint by, bool& reply_lost) {
  Duration pause = milliseconds(20);
  for (;;) {
    Result<bool> result = backend_->release(stamp, owner_.app, by);
    if (result) return result;
    reply_lost = reply_lost || result.error().may_have_applied();
    const bool again = result.error().retryable() || result.error().may_have_applied();
    if (!again || later(BootClock::now(), pause) >= by) {
      keeper_.tell(
          {.kind = Event::Kind::release_failed, .stamp = stamp, .detail = result.error().message});
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
    if (kept && outlasts_its_loss(*kept)) keeper_.tidy_later(hold.stamp(), TimePoint::max());
    return not_held(hold.stamp(), owner_.app);
  }

  bool reply_lost = false;
  Result<bool> result = release_in_store(hold.stamp(), io_deadline(began), reply_lost);
  if (!result) {
    keeper_.tidy_later(hold.stamp(), later(BootClock::now(), hold.lease()));
    return std::move(result).error();
  }
  // Gone after a lost reply: only we can have released it while it was valid.
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

Status Manager::renew(HoldState& hold) {
  if (Status status = usable(); !status) return status;
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
  const RenewRequest request{stamp, permanent ? default_lease : wanted, permanent, nullptr, {}};
  TimePoint sent = clock_.now();
  Result<RenewReply> reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  if (!reply && reply.error().may_have_applied()) {  // to renew twice does no harm
    sent = clock_.now();
    reply = backend_->renew(owner_, {&request, 1}, io_deadline());
  }
  if (!reply) return std::move(reply).error();
  const auto hold = keeper_.find(stamp);
  if (reply->renewals.size() != 1 || !reply->renewals.front()) {
    if (hold && hold->denied()) keeper_.announce(hold);
    return not_held(stamp, owner_.app);
  }
  const Duration granted = reply->renewals.front()->lease;
  if (hold && hold->renewed(sent, granted)) keeper_.announce(hold);
  return granted;
}

// The hold on an application id may not: after its holder's death nobody could take over.
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
  const HoldState::Released released = hold.release();
  const std::shared_ptr<HoldState> kept = keeper_.remove(hold.stamp());
  if (released.newly_lost && kept) keeper_.announce(kept);
  if (!released.was_held) return not_held(hold.stamp(), owner_.app);
  return hold.stamp();
}

Status Manager::change_config(const ConfigChange& change) {
  if (Status status = usable(); !status) return status;
  if (Status status = check_change(change); !status) return status;
  Result<SpaceConfig> config = backend_->change_config(change, io_deadline());
  // To set a value twice does no harm, so a lost reply is simply asked for again.
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

void Manager::close() noexcept {
  if (closed_.exchange(true)) return;
  keeper_.stop();
  // All of it within one I/O timeout; what is left ends with its lease.
  const TimePoint by = io_deadline();
  std::vector<std::shared_ptr<HoldState>> there;
  for (auto& hold : keeper_.remove_all()) {
    const HoldState::Released released = hold->release();
    if (released.newly_lost) hold->announce_loss();
    if (hold == app_hold_) continue;
    if (released.was_held || outlasts_its_loss(*hold)) there.push_back(std::move(hold));
  }
  release_all(there, by);
  // Last, for until here nobody may take over.
  if (app_hold_) static_cast<void>(backend_->release(app_hold_->stamp(), owner_.app, by).ok());
}

void Manager::release_all(std::span<const std::shared_ptr<HoldState>> holds, TimePoint by) {
  const std::size_t chunk = std::max<std::size_t>(1, traits_.renew_chunk);
  for (; !holds.empty() && BootClock::now() < by;
       holds = holds.subspan(std::min(chunk, holds.size()))) {
    std::vector<Stamp> stamps;
    for (const auto& hold : holds.first(std::min(chunk, holds.size()))) {
      stamps.push_back(hold->stamp());
    }
    // The first trouble is often a connection that died while idle, and to release twice does no
    // harm.
    Result<std::vector<bool>> ended = backend_->release_all(stamps, owner_.app, by);
    if (!ended && BootClock::now() < by) ended = backend_->release_all(stamps, owner_.app, by);
    if (!ended) {
      for (const Stamp stamp : stamps) {
        keeper_.tell(
            {.kind = Event::Kind::release_failed, .stamp = stamp, .detail = ended.error().message});
      }
      continue;
    }
    for (std::size_t i = 0; i < ended->size() && i < stamps.size(); ++i) {
      keeper_.tell(
          {.kind = Event::Kind::released, .stamp = stamps[i], .items = holds[i]->set().items()});
    }
  }
}

}  // namespace lockset
