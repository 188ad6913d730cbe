// Opening and closing: checking the options, taking an application over, and releasing the
// remaining holds.
#include "core/manager.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/identity.h"
#include "core/machine.h"
#include "core/time_math.h"

namespace lockset {

using std::chrono::milliseconds;

Duration Manager::finite_lease(const SpaceConfig& config) {
  return std::min(default_lease, config.max_lease);
}

bool Manager::outlasts_its_loss(const HoldState& hold) {
  const LostReason why = hold.lost_reason();
  return hold.lease() == no_lease && (why == LostReason::app_lost || why == LostReason::superseded);
}

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
  if (options.reclaim && !backend->traits().can_reclaim) {
    return Error{Errc::unsupported,
                 "with this backend holds end with their process, and there is no "
                 "reclaim: leave it out"};
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
  // Always with a lease; otherwise nobody could take over after this process has died.
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
  // Reclaiming twice is harmless, so a call whose reply was lost is repeated.
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

void Manager::close() noexcept {
  if (closed_.exchange(true)) return;
  closing_by_ = io_deadline();
  tasks_.stop();
  keeper_.stop();
  // All that follows within one I/O timeout; holds that are left end with their leases.
  const TimePoint by = io_deadline();
  std::vector<std::shared_ptr<HoldState>> there;
  for (auto& hold : keeper_.remove_all()) {
    const HoldState::Released released = hold->release();
    if (released.newly_lost) hold->announce_loss();
    if (hold == app_hold_) continue;
    if (released.was_held || outlasts_its_loss(*hold)) there.push_back(std::move(hold));
  }
  release_all(there, by);
  keeper_.tidy_at_last(by);
  // Last, because nobody may take over before this point.
  if (app_hold_) static_cast<void>(backend_->release(app_hold_->ref(), owner_.app, by).ok());
}

void Manager::release_all(std::span<const std::shared_ptr<HoldState>> holds, TimePoint by) {
  const std::size_t chunk = std::max<std::size_t>(1, traits_.renew_chunk);
  for (; !holds.empty() && BootClock::now() < by;
       holds = holds.subspan(std::min(chunk, holds.size()))) {
    std::vector<HoldRef> some;
    for (const auto& hold : holds.first(std::min(chunk, holds.size()))) {
      some.push_back(hold->ref());
    }
    // The first failure is often a connection that died while idle, and releasing twice is
    // harmless.
    Result<std::vector<bool>> ended = backend_->release_all(some, owner_.app, by);
    if (!ended && BootClock::now() < by) ended = backend_->release_all(some, owner_.app, by);
    if (!ended) {
      for (const HoldRef& hold : some) {
        keeper_.tell({.kind = Event::Kind::release_failed,
                      .stamp = hold.stamp,
                      .detail = ended.error().message});
      }
      continue;
    }
    for (std::size_t i = 0; i < ended->size() && i < some.size(); ++i) {
      keeper_.tell({.kind = Event::Kind::released,
                    .stamp = some[i].stamp,
                    .items = holds[i]->set().items()});
    }
  }
}

}  // namespace lockset
